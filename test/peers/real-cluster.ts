/**
 * A cluster of real programs: etcd, kube-apiserver and, where it is wanted, kube-controller-manager, with certificates made on the
 * spot. There are no nodes and nothing runs in it; objects, roles, watches and deletions are those of Kubernetes.
 */

import { generateKeyPairSync } from 'node:crypto';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CertificateAuthority } from '@roundhouse/simulators';
import { withFreePorts } from './free-ports.ts';
import { httpsFetch } from './https-fetch.ts';
import { kubeconfigOf } from './kubeconfig-of.ts';
import { obtainGoProgram } from './obtain-go-program.ts';
import type { GoProgram } from './obtain-go-program.ts';
import { ServerProcess } from './server-process.ts';

const loopback = '127.0.0.1';

export interface RealClusterOptions {
  /** Whether kube-controller-manager runs: namespaces take their content with them, garbage is collected. Default false. */
  readonly controllers?: boolean;
  /** Who is known beside `admin` (in `system:masters`), by token. */
  readonly users?: Readonly<
    Record<string, { readonly username: string; readonly groups: readonly string[] }>
  >;
  /** Whether reads may come from the apiserver's memory. Default true, as in the field. */
  readonly watchCache?: boolean;
}

/** What such a cluster is made of, for `whyNoGoPrograms`. */
export function programsOf({ controllers = false }: RealClusterOptions = {}): readonly GoProgram[] {
  return ['etcd', 'kube-apiserver', ...(controllers ? (['kube-controller-manager'] as const) : [])];
}

export class RealCluster implements AsyncDisposable {
  readonly url: string;
  /** Of whom the apiserver is certified by, for 127.0.0.1 and `kubernetes.default.svc`. Client certificates are asked of it, too. */
  readonly authority: CertificateAuthority;
  readonly adminToken: string;
  readonly fetch: ReturnType<typeof httpsFetch>;
  readonly #etcdUrl: string;
  readonly #resources: AsyncDisposableStack;
  #apiserver: ServerProcess | undefined;
  /** Starts one on the same port, with the same content. */
  #startApiserver: (() => Promise<ServerProcess>) | undefined;

  private constructor(
    parts: Pick<RealCluster, 'url' | 'authority' | 'adminToken'> & { readonly etcdUrl: string },
    resources: AsyncDisposableStack,
  ) {
    this.url = parts.url;
    this.authority = parts.authority;
    this.adminToken = parts.adminToken;
    this.fetch = httpsFetch(parts.authority.certificatePem);
    this.#etcdUrl = parts.etcdUrl;
    this.#resources = resources;
  }

  /** Resolves once it serves, within some ten seconds. The programs have to be obtainable. */
  static async start(options: RealClusterOptions = {}): Promise<RealCluster> {
    return withFreePorts(4, async (ports) => RealCluster.#startOn(ports, options));
  }

  static async #startOn(
    [etcdPort = 0, peerPort = 0, port = 0, controllersPort = 0]: readonly number[],
    options: RealClusterOptions,
  ): Promise<RealCluster> {
    const { controllers = false } = options;
    const resources = new AsyncDisposableStack();
    try {
      const folder = resources.use(await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-cluster-'))).path;
      const authority = await CertificateAuthority.create({ name: 'real cluster' });
      const etcdUrl = `http://${loopback}:${etcdPort}`;
      const adminToken = crypto.randomUUID();
      const cluster = new RealCluster(
        { url: `https://${loopback}:${port}`, authority, adminToken, etcdUrl },
        resources,
      );
      resources.use(await startEtcd(folder, etcdUrl, `http://${loopback}:${peerPort}`));
      const files = await writeFiles(folder, cluster, options.users ?? {});
      cluster.#startApiserver = async () => startApiserver(cluster, files, { port, etcdUrl, ...options });
      resources.defer(async () => cluster.killApiserver());
      await cluster.startApiserver();
      if (controllers) resources.use(await startControllers(cluster, files, controllersPort));
      return cluster;
    } catch (error) {
      await resources.disposeAsync();
      throw error;
    }
  }

  /** Resolves once it serves again. What it served before is in etcd, and nothing of it in its memory. */
  async startApiserver(): Promise<void> {
    this.#apiserver = await this.#startApiserver?.();
  }

  /** As a machine ends that loses its power. */
  async killApiserver(): Promise<void> {
    await this.#apiserver?.kill('SIGKILL');
  }

  /** As the admin. */
  async request(method: string, target: string, body?: unknown): Promise<Response> {
    return this.fetch(`${this.url}${target}`, {
      method,
      headers: { authorization: `Bearer ${this.adminToken}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  /** Makes etcd forget every revision before now. What an apiserver has in its watch cache it still knows. */
  async compact(): Promise<void> {
    // Its gateway from JSON: etcd's documentation, "gRPC gateway"; keys are base64, revisions decimal strings.
    const ask = async (method: string, body: unknown): Promise<unknown> => {
      const answer = await fetch(`${this.#etcdUrl}/v3/kv/${method}`, {
        method: 'POST',
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`etcd ${method}: ${answer.status} ${await answer.text()}`);
      return answer.json();
    };
    const now = JSON.stringify(await ask('range', { key: Buffer.from('/').toString('base64') }));
    const revision = /"revision":"(\d+)"/.exec(now)?.[1];
    await ask('compaction', { revision, physical: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

interface ClusterFiles {
  readonly folder: string;
  readonly ca: string;
  readonly servingCert: string;
  readonly servingKey: string;
  readonly kubeletClientCert: string;
  readonly kubeletClientKey: string;
  readonly serviceAccountKey: string;
  readonly tokens: string;
  readonly adminKubeconfig: string;
}

async function writeFiles(
  folder: string,
  { authority, adminToken, url }: RealCluster,
  users: NonNullable<RealClusterOptions['users']>,
): Promise<ClusterFiles> {
  const write = async (name: string, text: string): Promise<string> => {
    const file = path.join(folder, name);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  };
  const serving = await authority.issue({
    commonName: 'kube-apiserver',
    dnsNames: ['localhost', 'kubernetes', 'kubernetes.default', 'kubernetes.default.svc'],
    ipAddresses: [loopback],
    usage: 'server',
  });
  const kubeletClient = await authority.issue({
    commonName: 'kube-apiserver-kubelet-client',
    usage: 'client',
  });
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
  });
  const everybody = { [adminToken]: { username: 'admin', groups: ['system:masters'] }, ...users };
  const tokens = Object.entries(everybody).map(
    ([token, { username, groups }]) => `${token},${username},,"${groups.join(',')}"\n`,
  );
  const ca = await write('ca.crt', authority.certificatePem);
  return {
    folder,
    ca,
    servingCert: await write('serving.crt', serving.certPem),
    servingKey: await write('serving.key', serving.keyPem),
    kubeletClientCert: await write('kubelet-client.crt', kubeletClient.certPem),
    kubeletClientKey: await write('kubelet-client.key', kubeletClient.keyPem),
    serviceAccountKey: await write('service-account.key', privateKey),
    tokens: await write('tokens.csv', tokens.join('')),
    adminKubeconfig: await write(
      'admin.kubeconfig',
      kubeconfigOf(url, authority.certificatePem, { admin: adminToken }),
    ),
  };
}

async function startEtcd(folder: string, clientUrl: string, peerUrl: string): Promise<ServerProcess> {
  const args = [
    `--data-dir=${path.join(folder, 'etcd')}`,
    `--listen-client-urls=${clientUrl}`,
    `--advertise-client-urls=${clientUrl}`,
    `--listen-peer-urls=${peerUrl}`,
    `--initial-advertise-peer-urls=${peerUrl}`,
    `--initial-cluster=default=${peerUrl}`,
    // Nothing has to survive the machine.
    '--unsafe-no-fsync',
    '--log-level=warn',
  ];
  return ServerProcess.start('etcd', await obtainGoProgram('etcd'), args, {
    isReady: async () => (await fetch(`${clientUrl}/readyz`)).ok,
  });
}

async function startApiserver(
  cluster: RealCluster,
  files: ClusterFiles,
  {
    port,
    etcdUrl,
    watchCache = true,
  }: RealClusterOptions & { readonly port: number; readonly etcdUrl: string },
): Promise<ServerProcess> {
  const args = [
    `--etcd-servers=${etcdUrl}`,
    `--bind-address=${loopback}`,
    `--advertise-address=${loopback}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${files.servingCert}`,
    `--tls-private-key-file=${files.servingKey}`,
    `--client-ca-file=${files.ca}`,
    `--token-auth-file=${files.tokens}`,
    '--authorization-mode=RBAC',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    '--service-cluster-ip-range=10.96.0.0/16',
    // A pod of a test is not to wait until a controller has made the account that it runs as.
    '--disable-admission-plugins=ServiceAccount',
    // A loopback address is none for endpoints.
    '--endpoint-reconciler-type=none',
    `--kubelet-certificate-authority=${files.ca}`,
    `--kubelet-client-certificate=${files.kubeletClientCert}`,
    `--kubelet-client-key=${files.kubeletClientKey}`,
    `--watch-cache=${watchCache}`,
  ];
  return ServerProcess.start('kube-apiserver', await obtainGoProgram('kube-apiserver'), args, {
    isReady: async () => (await cluster.request('GET', '/readyz')).ok,
  });
}

async function startControllers(
  cluster: RealCluster,
  files: ClusterFiles,
  port: number,
): Promise<ServerProcess> {
  const args = [
    `--kubeconfig=${files.adminKubeconfig}`,
    `--authentication-kubeconfig=${files.adminKubeconfig}`,
    `--authorization-kubeconfig=${files.adminKubeconfig}`,
    `--bind-address=${loopback}`,
    `--secure-port=${port}`,
    `--tls-cert-file=${files.servingCert}`,
    `--tls-private-key-file=${files.servingKey}`,
    '--leader-elect=false',
    // The nodes of a test have nobody who tells of their health.
    '--controllers=*,-node-lifecycle-controller,-taint-eviction-controller',
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
  ];
  return ServerProcess.start(
    'kube-controller-manager',
    await obtainGoProgram('kube-controller-manager'),
    args,
    {
      isReady: async () => {
        const { ok } = await cluster.fetch(`https://${loopback}:${port}/healthz`);
        // Its account controller has come to the first namespace, so that the others are under way, too.
        return ok && (await cluster.request('GET', '/api/v1/namespaces/default/serviceaccounts/default')).ok;
      },
    },
  );
}
