/**
 * The real proxy-server and agent of konnectivity, with certificates made on the spot: the way from a hub to what an agent can reach.
 * Both can be killed and started again on the same ports, as machines do it to them.
 */

import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CertificateAuthority } from '@roundhouse/simulators';
import { withFreePorts } from './free-ports.ts';
import { obtainGoProgram } from './obtain-go-program.ts';
import type { GoProgram } from './obtain-go-program.ts';
import { ServerProcess } from './server-process.ts';

const loopback = '127.0.0.1';

/** What it is made of, for `whyNoGoPrograms`. */
export const konnectivityPrograms: readonly GoProgram[] = ['proxy-server', 'proxy-agent'];

export interface KonnectivityPairOptions {
  /** How clients speak to the server. Default `grpc`. */
  readonly mode?: 'grpc' | 'http-connect';
  /** Clients come over a Unix socket without TLS, instead of TCP with client certificates. Default false. */
  readonly unixSocket?: boolean;
  /** Hosts that the agent answers for; it resolves them itself. Default `localhost` and 127.0.0.1. */
  readonly hosts?: readonly string[];
}

interface Ports {
  readonly client: number;
  readonly agent: number;
  readonly serverHealth: number;
  readonly serverAdmin: number;
  readonly agentHealth: number;
  readonly agentAdmin: number;
}

/** Files with PEM in them. */
interface Files {
  readonly serverCa: string;
  readonly clientCert: string;
  readonly clientKey: string;
}

export class KonnectivityPair implements AsyncDisposable {
  readonly #options: KonnectivityPairOptions;
  readonly #ports: Ports;
  readonly #resources: AsyncDisposableStack;
  /** What a client needs for a session: whom to trust, and what to show. */
  readonly files: Files;
  /** Signs the server's certificate and those of clients. */
  readonly authority: CertificateAuthority;
  /** Of the server, where it listens on one. */
  readonly socketPath: string;
  #server: ServerProcess | undefined;
  #agent: ServerProcess | undefined;

  private constructor(
    options: KonnectivityPairOptions,
    parts: { readonly ports: Ports; readonly files: Files; readonly authority: CertificateAuthority },
    socketPath: string,
    resources: AsyncDisposableStack,
  ) {
    this.#options = options;
    this.#ports = parts.ports;
    this.files = parts.files;
    this.authority = parts.authority;
    this.socketPath = socketPath;
    this.#resources = resources;
  }

  /** Resolves when an agent is connected. The programs have to be obtainable. */
  static async start(options: KonnectivityPairOptions = {}): Promise<KonnectivityPair> {
    return withFreePorts(6, async (ports) => KonnectivityPair.#startOn(ports, options));
  }

  static async #startOn(
    [
      client = 0,
      agent = 0,
      serverHealth = 0,
      serverAdmin = 0,
      agentHealth = 0,
      agentAdmin = 0,
    ]: readonly number[],
    options: KonnectivityPairOptions,
  ): Promise<KonnectivityPair> {
    const resources = new AsyncDisposableStack();
    try {
      const folder = resources.use(await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-tunnel-'))).path;
      const ports = { client, agent, serverHealth, serverAdmin, agentHealth, agentAdmin };
      const authority = await CertificateAuthority.create({ name: 'konnectivity clients' });
      const files = await writeFiles(folder, authority);
      const pair = new KonnectivityPair(
        options,
        { ports, files, authority },
        path.join(folder, 'server.sock'),
        resources,
      );
      resources.defer(async () => pair.killAgent());
      resources.defer(async () => pair.killServer());
      await pair.startServer();
      await pair.startAgent();
      return pair;
    } catch (error) {
      await resources.disposeAsync();
      throw error;
    }
  }

  /** Of the server for clients over TCP: `127.0.0.1:port`. */
  get address(): string {
    return `${loopback}:${this.#ports.client}`;
  }

  /** Resolves once it listens; an agent comes back to it by itself, within a second or two. */
  async startServer(): Promise<void> {
    const { mode = 'grpc', unixSocket = false } = this.#options;
    const { client, agent, serverHealth, serverAdmin } = this.#ports;
    const inFolder = (name: string): string => path.join(path.dirname(this.socketPath), name);
    const args = [
      `--mode=${mode}`,
      '--proxy-strategies=destHost',
      '--server-count=1',
      `--server-bind-address=${loopback}`,
      `--agent-bind-address=${loopback}`,
      `--health-bind-address=${loopback}`,
      `--agent-port=${agent}`,
      `--health-port=${serverHealth}`,
      `--admin-port=${serverAdmin}`,
      ...(unixSocket
        ? [`--uds-name=${this.socketPath}`, '--server-port=0']
        : [
            `--server-port=${client}`,
            `--server-ca-cert=${this.files.serverCa}`,
            `--server-cert=${inFolder('server.crt')}`,
            `--server-key=${inFolder('server.key')}`,
          ]),
      `--cluster-ca-cert=${inFolder('agents-ca.crt')}`,
      `--cluster-cert=${inFolder('agents-server.crt')}`,
      `--cluster-key=${inFolder('agents-server.key')}`,
      '--v=1',
    ];
    this.#server = await ServerProcess.start('proxy-server', await obtainGoProgram('proxy-server'), args, {
      isReady: async () => answers(serverHealth, '/healthz'),
    });
  }

  /** Resolves once the server knows it. */
  async startAgent(): Promise<void> {
    const { hosts = ['localhost', loopback] } = this.#options;
    const { agent, agentHealth, agentAdmin, serverHealth } = this.#ports;
    const inFolder = (name: string): string => path.join(path.dirname(this.socketPath), name);
    const identifiers = hosts.map((host) => `host=${encodeURIComponent(host)}`).join('&');
    const args = [
      `--proxy-server-host=${loopback}`,
      `--proxy-server-port=${agent}`,
      '--agent-id=agent-0',
      `--agent-identifiers=${identifiers}`,
      `--ca-cert=${inFolder('agents-ca.crt')}`,
      `--agent-cert=${inFolder('agent.crt')}`,
      `--agent-key=${inFolder('agent.key')}`,
      `--health-server-port=${agentHealth}`,
      `--admin-server-port=${agentAdmin}`,
      '--sync-interval=200ms',
      '--sync-interval-cap=1s',
      '--v=1',
    ];
    this.#agent = await ServerProcess.start('proxy-agent', await obtainGoProgram('proxy-agent'), args, {
      isReady: async () => (await answers(agentHealth, '/readyz')) && answers(serverHealth, '/readyz'),
    });
  }

  /** As a machine ends that loses its power. */
  async killServer(): Promise<void> {
    await this.#server?.kill('SIGKILL');
  }

  async killAgent(): Promise<void> {
    await this.#agent?.kill('SIGKILL');
  }

  /** The server has an agent. */
  async isReady(): Promise<boolean> {
    return answers(this.#ports.serverHealth, '/readyz').catch(() => false);
  }

  /** Sum of the samples whose name, without `konnectivity_network_proxy_server_`, and labels begin like this. Rejects without any. */
  async serverMetric(sample: string): Promise<number> {
    return metric(this.#ports.serverHealth, `konnectivity_network_proxy_server_${sample}`);
  }

  /** The same of the agent. */
  async agentMetric(sample: string): Promise<number> {
    return metric(this.#ports.agentHealth, `konnectivity_network_proxy_agent_${sample}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

async function answers(port: number, target: string): Promise<boolean> {
  const answer = await fetch(`http://${loopback}:${port}${target}`);
  await answer.bytes();
  return answer.ok;
}

async function metric(port: number, sample: string): Promise<number> {
  const answer = await fetch(`http://${loopback}:${port}/metrics`);
  const lines = (await answer.text()).split('\n').filter((line) => line.startsWith(sample));
  if (lines.length === 0) throw new Error(`there is no metric ${sample}`);
  return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** Two authorities, as in the field: who reaches the server is not who may serve for a cluster. */
async function writeFiles(folder: string, clients: CertificateAuthority): Promise<Files> {
  const agents = await CertificateAuthority.create({ name: 'konnectivity agents' });
  const server = { dnsNames: ['localhost'], ipAddresses: [loopback], usage: 'server' } as const;
  const write = async (name: string, text: string): Promise<string> => {
    const file = path.join(folder, name);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  };
  const pairs = {
    server: await clients.issue({ commonName: 'proxy-server', ...server }),
    client: await clients.issue({ commonName: 'gateway', usage: 'client' }),
    'agents-server': await agents.issue({ commonName: 'proxy-server', ...server }),
    agent: await agents.issue({ commonName: 'agent', usage: 'client' }),
  };
  for (const [name, { certPem, keyPem }] of Object.entries(pairs)) {
    await write(`${name}.crt`, certPem);
    await write(`${name}.key`, keyPem);
  }
  await write('agents-ca.crt', agents.certificatePem);
  return {
    serverCa: await write('clients-ca.crt', clients.certificatePem),
    clientCert: path.join(folder, 'client.crt'),
    clientKey: path.join(folder, 'client.key'),
  };
}
