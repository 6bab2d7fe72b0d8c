/** A simulated cluster and a kubectl that is set up for it, as its users `admin` and `jane`. */

import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { CertificateAuthority, KubeApiserver } from '@roundhouse/simulators';
import type { KubeApiserverOptions } from '@roundhouse/simulators';
import { KubectlStream, runKubectl } from './run-kubectl.ts';
import type { KubectlResult } from './run-kubectl.ts';

type Environment = Readonly<Record<string, string>>;

export interface Bench extends AsyncDisposable {
  readonly server: KubeApiserver;
  /** Standard output of a kubectl that must succeed. */
  readonly run: (args: string, stdin?: string, environment?: Environment) => Promise<string>;
  /** Standard error of a kubectl that must fail. */
  readonly fail: (args: string, stdin?: string) => Promise<string>;
  /** Whatever it does. */
  readonly try: (args: string, stdin?: string) => Promise<KubectlResult>;
  readonly follow: (args: string) => Promise<KubectlStream>;
}

export async function openBench(
  kubectl: string,
  options: Partial<KubeApiserverOptions> = {},
): Promise<Bench> {
  await using resources = new AsyncDisposableStack();
  const folder = resources.use(await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-kubectl-')));
  const authority = await CertificateAuthority.create();
  const serving = await authority.issue({ commonName: 'kube-apiserver', usage: 'server' });
  const client = await authority.issue({
    commonName: 'jane',
    organizations: ['dev', 'ops'],
    usage: 'client',
  });
  const server = resources.use(
    await KubeApiserver.listen({
      name: 'alpha',
      tls: { ...serving, clientCaPem: authority.certificatePem },
      authentication: { tokens: { 'a-token': { username: 'admin', groups: ['system:masters'] } } },
      ...options,
    }),
  );
  const kubeconfig = path.join(folder.path, 'kubeconfig');
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'admin',
    clusters: [
      {
        name: 'alpha',
        cluster: { server: server.url, 'certificate-authority-data': base64(authority.certificatePem) },
      },
    ],
    users: [
      { name: 'admin', user: { token: 'a-token' } },
      {
        name: 'jane',
        user: { 'client-certificate-data': base64(client.certPem), 'client-key-data': base64(client.keyPem) },
      },
    ],
    contexts: ['admin', 'jane'].map((user) => ({ name: user, context: { cluster: 'alpha', user } })),
  };
  await writeFile(kubeconfig, JSON.stringify(config));
  const owned = resources.move();
  const attempt = async (args: string, stdin?: string, environment?: Environment) =>
    runKubectl(kubectl, args.split(' '), {
      kubeconfig,
      ...(stdin === undefined ? {} : { stdin }),
      ...(environment === undefined ? {} : { environment }),
    });
  return {
    server,
    run: async (args, stdin, environment) => {
      const result = await attempt(args, stdin, environment);
      assert.equal(result.code, 0, `kubectl ${args}\n${result.stdout}\n${result.stderr}`);
      return result.stdout;
    },
    fail: async (args, stdin) => {
      const result = await attempt(args, stdin);
      assert.equal(result.code, 1, `kubectl ${args}\n${result.stdout}\n${result.stderr}`);
      return result.stderr;
    },
    try: attempt,
    follow: async (args) => KubectlStream.start(kubectl, args.split(' '), { kubeconfig }),
    [Symbol.asyncDispose]: async () => owned.disposeAsync(),
  };
}

/** JSON is YAML, so it can be applied as it is. */
export function manifest(image: string): string {
  const labels = { app: 'shop' };
  const env = [
    { name: 'A', value: '1' },
    { name: 'B', value: '2' },
  ];
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'List',
    items: [
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'shop', labels },
        spec: {
          replicas: 2,
          selector: { matchLabels: labels },
          template: {
            metadata: { labels },
            spec: {
              containers: [{ name: 'main', image, env, ports: [{ containerPort: 80, name: 'http' }] }],
            },
          },
        },
      },
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 'shop' },
        spec: { selector: labels, ports: [{ port: 80, targetPort: 'http' }] },
      },
    ],
  });
}
