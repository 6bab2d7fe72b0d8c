/**
 * What a kube-apiserver reaches of a node: a kubelet's exec, attach, port-forward and logs, over TLS with client certificates. The pods
 * live in a simulated cluster behind it, under the same names; here each request is only put into that cluster's words.
 */

import { once } from 'node:events';
import { connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import tls from 'node:tls';
import { KubeApiserver } from '@roundhouse/simulators';
import type { RealCluster } from './real-cluster.ts';

const loopback = '127.0.0.1';
const token = 'kubelet';
const nodeName = 'node-1';
const maxHeadBytes = 16 * 1024;
const endOfHead = '\r\n\r\n';

/** A kubelet's paths, and what they are called below a pod. */
const subresources: Readonly<Record<string, string>> = {
  exec: 'exec',
  attach: 'attach',
  portForward: 'portforward',
  containerLogs: 'log',
};

/** A kubelet's parameters that have other names at an apiserver. */
const parameters: Readonly<Record<string, string>> = { input: 'stdin', output: 'stdout', error: 'stderr' };

export class Kubelet implements AsyncDisposable {
  readonly #cluster: RealCluster;
  readonly #pods: KubeApiserver;
  readonly #server: tls.Server;
  /** Both sides of what is open. */
  readonly #sockets: Set<Socket>;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    cluster: RealCluster,
    parts: {
      readonly pods: KubeApiserver;
      readonly server: tls.Server;
      readonly sockets: Set<Socket>;
    },
    resources: AsyncDisposableStack,
  ) {
    this.#cluster = cluster;
    this.#pods = parts.pods;
    this.#server = parts.server;
    this.#sockets = parts.sockets;
    this.#resources = resources;
  }

  /** Serves, and is a node of the cluster. */
  static async start(cluster: RealCluster): Promise<Kubelet> {
    await using resources = new AsyncDisposableStack();
    const pods = resources.use(
      await KubeApiserver.listen({
        name: 'kubelet',
        controllers: false,
        authentication: { tokens: { [token]: { username: 'kubelet', groups: ['system:masters'] } } },
      }),
    );
    const { certPem, keyPem } = await cluster.authority.issue({ commonName: nodeName, usage: 'server' });
    const sockets = new Set<Socket>();
    const server = tls.createServer({
      cert: certPem,
      key: keyPem,
      ca: cluster.authority.certificatePem,
      requestCert: true,
      rejectUnauthorized: true,
      ALPNProtocols: ['http/1.1'],
    });
    server.on('secureConnection', (socket) => track(socket, sockets));
    server.on('secureConnection', (socket) => {
      serve(socket, pods.port, sockets).catch((error: unknown) => {
        socket.destroy(error instanceof Error ? error : undefined);
      });
    });
    server.listen(0, loopback);
    await once(server, 'listening');
    resources.defer(async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    });
    const kubelet = new Kubelet(cluster, { pods, server, sockets }, resources.move());
    try {
      await kubelet.#register();
      return kubelet;
    } catch (error) {
      await kubelet[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Sessions, logs and requests of apiservers that are open. */
  get open(): number {
    return [...this.#sockets].filter((socket) => socket instanceof tls.TLSSocket).length;
  }

  /** A pod with one container that runs from the start, in a namespace that is there. */
  async run(name: string, namespace = 'default'): Promise<void> {
    const metadata = { name, namespace, labels: { app: name } };
    const spec = { nodeName, containers: [{ name: 'main', image: 'registry.example/box:1' }] };
    const running = { running: { startedAt: '2026-01-01T00:00:00Z' } };
    const main = {
      name: 'main',
      image: 'registry.example/box:1',
      imageID: 'box',
      restartCount: 0,
      ready: true,
    };
    const status = {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
      containerStatuses: [{ ...main, started: true, state: running }],
    };
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata, spec };
    this.#pods.store.put({ ...pod, status });
    const path = `/api/v1/namespaces/${namespace}/pods`;
    await this.#tell('POST', path, pod);
    await this.#tell('PUT', `${path}/${name}/status`, { ...pod, status });
  }

  /** A line of what its container prints. */
  appendLog(name: string, line: string, namespace = 'default'): void {
    this.#pods.appendLog({ name, namespace }, line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }

  async #register(): Promise<void> {
    const { port } = this.#server.address() as AddressInfo;
    const now = new Date().toISOString();
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      message: 'it is simulated',
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    };
    await this.#tell('POST', '/api/v1/nodes', {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: nodeName },
      status: {
        addresses: [{ type: 'InternalIP', address: loopback }],
        daemonEndpoints: { kubeletEndpoint: { Port: port } },
        conditions: [ready],
      },
    });
  }

  async #tell(method: string, path: string, body: unknown): Promise<void> {
    const answer = await this.#cluster.request(method, path, body);
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  }
}

function track(socket: Socket, sockets: Set<Socket>): void {
  sockets.add(socket);
  // How a connection ends is the business of whoever looks at what went over it.
  socket.on('error', () => {}).once('close', () => sockets.delete(socket));
}

/** One request a connection: what comes behind its head goes through as it is, in both directions. */
async function serve(socket: Socket, port: number, sockets: Set<Socket>): Promise<void> {
  let received = Buffer.alloc(0);
  while (!received.includes(endOfHead)) {
    if (received.length > maxHeadBytes) throw new Error('a head without an end');
    const [chunk]: Buffer[] = await once(socket, 'data');
    received = Buffer.concat([received, chunk ?? Buffer.alloc(0)]);
  }
  socket.pause();
  const end = received.indexOf(endOfHead);
  const behind = connect({ host: loopback, port, allowHalfOpen: true });
  track(behind, sockets);
  behind.write(translated(received.toString('latin1', 0, end)));
  behind.write(received.subarray(end + endOfHead.length));
  socket.pipe(behind);
  behind.pipe(socket);
  socket.once('close', () => behind.destroy());
  behind.once('close', () => socket.end());
}

/** `POST /exec/NAMESPACE/POD/CONTAINER?command=…` as an apiserver is asked for it. */
function translated(head: string): string {
  const [first = '', ...fields] = head.split('\r\n');
  const [method = '', target = ''] = first.split(' ');
  const { pathname, searchParams } = new URL(target, 'https://kubelet');
  const [, kind = '', namespace = '', pod = '', container] = pathname.split('/');
  const query = new URLSearchParams(container === undefined ? [] : [['container', container]]);
  for (const [name, value] of searchParams) query.append(parameters[name] ?? name, value);
  const path = `/api/v1/namespaces/${namespace}/pods/${pod}/${subresources[kind] ?? kind}`;
  const upgrades = fields.some((field) => /^upgrade:/i.test(field));
  return [
    `${method} ${path}?${query.toString()} HTTP/1.1`,
    ...fields.filter((field) => upgrades || !/^connection:/i.test(field)),
    ...(upgrades ? [] : ['Connection: close']),
    `Authorization: Bearer ${token}`,
    endOfHead.slice(2),
  ].join('\r\n');
}
