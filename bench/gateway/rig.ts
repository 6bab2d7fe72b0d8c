/** What all contestants have in common: one authority, one certificate, two upstreams, and a folder that is gone afterwards. */

import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { CertificateAuthority } from '@roundhouse/simulators';
import { ChildProgram, freePort } from '../measure/child-program.ts';
import { Worker } from '../measure/worker.ts';
import { nginxConfig } from './nginx-config.ts';
import { jsonOfLength } from './upstream-program.ts';
import type { UpstreamHandlers } from './upstream-program.ts';

/** - `static`: answers of a fixed length. - `watched`: watches. Also the names of their contexts. */
export type UpstreamName = 'static' | 'watched';

export interface Rig {
  readonly folder: string;
  readonly caFile: string;
  readonly caPem: string;
  /** Of the fronts; for 127.0.0.1 and localhost. */
  readonly certFile: string;
  readonly keyFile: string;
  /** Has both upstreams as contexts. */
  readonly kubeconfig: string;
  readonly ports: Readonly<Record<UpstreamName, number>>;
  readonly token: string;
  /** What serves the answers of a fixed length. */
  readonly staticServer: 'nginx' | 'node';
  readonly upstream: Worker<UpstreamHandlers>;
  /** Where our own processes leave a CPU profile at their end; undefined when none is wanted. */
  readonly profileFolder: string | undefined;
}

export const bodies = {
  '/api/v1/namespaces/default/configmaps/small': 1024,
  '/api/v1/namespaces/default/configmaps/large': 1_000_000,
} as const;

const token = 'a-token-of-the-usual-length-for-a-service-account';

/** @param nginx its path; without it our own upstream serves everything */
export async function openRig(
  nginx: string | undefined,
  profileFolder: string | undefined,
): Promise<{ rig: Rig; [Symbol.asyncDispose](): Promise<void> }> {
  await using resources = new AsyncDisposableStack();
  const { path: folder } = resources.use(await mkdtempDisposable(join(tmpdir(), 'roundhouse-bench-')));
  const authority = await CertificateAuthority.create();
  const { certPem, keyPem } = await authority.issue({
    commonName: 'localhost',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const caPem = authority.certificatePem;
  const put = async (name: string, content: string | Buffer): Promise<string> => {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, content);
    return file;
  };
  const caFile = await put('ca.crt', caPem);
  const certFile = await put('tls.crt', certPem);
  const keyFile = await put('tls.key', keyPem);
  const upstream = resources.use(
    new Worker<UpstreamHandlers>(join(import.meta.dirname, 'upstream-program.ts')),
  );
  const watched = await upstream.ask('listen', { certPem, keyPem, bodies });
  let fixed = watched;
  if (nginx !== undefined) {
    for (const [path, bytes] of Object.entries(bodies)) await put(`static${path}`, jsonOfLength(bytes));
    fixed = await freePort();
    const config = await put(
      'static.conf',
      nginxConfig({
        folder,
        name: 'static',
        accessLog: false,
        server: `
    listen 127.0.0.1:${fixed} ssl http2;
    ssl_certificate ${certFile};
    ssl_certificate_key ${keyFile};
    ssl_protocols TLSv1.2 TLSv1.3;
    root ${folder}/static;`,
      }),
    );
    const server = resources.use(
      await ChildProgram.start({ command: nginx, args: ['-p', folder, '-c', config] }),
    );
    await server.listensOn(fixed);
  }
  const ports = { static: fixed, watched };
  const kubeconfig = await put('kubeconfig', kubeconfigOf(ports, caPem));
  const owned = resources.move();
  return {
    rig: {
      folder,
      caFile,
      caPem,
      certFile,
      keyFile,
      kubeconfig,
      ports,
      token,
      staticServer: nginx === undefined ? 'node' : 'nginx',
      upstream,
      profileFolder,
    },
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

/** JSON is YAML. */
function kubeconfigOf(ports: Readonly<Record<UpstreamName, number>>, caPem: string): string {
  const names = ['static', 'watched'] as const;
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'static',
    clusters: names.map((name) => ({
      name,
      cluster: {
        server: `https://127.0.0.1:${ports[name]}`,
        'certificate-authority-data': Buffer.from(caPem).toString('base64'),
      },
    })),
    users: [{ name: 'bench', user: { token } }],
    contexts: names.map((name) => ({ name, context: { cluster: name, user: 'bench' } })),
  });
}
