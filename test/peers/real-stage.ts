/**
 * The main job on real programs: a real cluster, a gateway in front of it that acts as its callers, and a real kubectl with a kubeconfig
 * that knows the gateway alone. Two callers: `admin`, who may do everything, and `dev`, who may work in the namespace `yard`.
 */

import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Gateway } from '@roundhouse/gateway';
import { CertificateAuthority } from '@roundhouse/simulators';
import { kubeconfigOf } from './kubeconfig-of.ts';
import { Kubelet } from './kubelet.ts';
import { RealCluster } from './real-cluster.ts';
import type { RealClusterOptions } from './real-cluster.ts';
import { KubectlStream, runKubectl } from './run-kubectl.ts';
import type { KubectlResult } from './run-kubectl.ts';

type Environment = Readonly<Record<string, string>>;

/** With controllers: what the role `edit` holds is put together by one of them. */
export const stageOptions = { controllers: true } as const satisfies RealClusterOptions;

const gatewayUser = 'roundhouse-gateway';
const people = {
  admin: { token: 'token-of-admin', group: 'admins' },
  dev: { token: 'token-of-dev', group: 'developers' },
} as const;

export type PersonName = keyof typeof people;

/** Split at spaces where it is one text. */
type Args = string | readonly string[];

/** One of the two at the cluster, through the gateway. */
export interface Person {
  readonly try: (args: Args, stdin?: string, environment?: Environment) => Promise<KubectlResult>;
  /** Standard output of a kubectl that must succeed. */
  readonly run: (args: Args, stdin?: string, environment?: Environment) => Promise<string>;
  /** Standard error of a kubectl that must fail with 1. */
  readonly fail: (args: Args, stdin?: string) => Promise<string>;
  readonly follow: (args: Args, environment?: Environment) => Promise<KubectlStream>;
}

export class RealStage implements AsyncDisposable {
  readonly cluster: RealCluster;
  readonly kubelet: Kubelet;
  readonly gateway: Gateway;
  readonly folder: string;
  readonly #kubeconfig: string;
  readonly #resources: AsyncDisposableStack;

  private constructor(
    parts: Pick<RealStage, 'cluster' | 'kubelet' | 'gateway' | 'folder'> & { readonly kubeconfig: string },
    resources: AsyncDisposableStack,
  ) {
    this.cluster = parts.cluster;
    this.kubelet = parts.kubelet;
    this.gateway = parts.gateway;
    this.folder = parts.folder;
    this.#kubeconfig = parts.kubeconfig;
    this.#resources = resources;
  }

  static async open(): Promise<RealStage> {
    await using resources = new AsyncDisposableStack();
    const folder = resources.use(await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-stage-'))).path;
    const gatewayToken = crypto.randomUUID();
    const cluster = resources.use(
      await RealCluster.start({
        ...stageOptions,
        users: { [gatewayToken]: { username: gatewayUser, groups: [] } },
      }),
    );
    await allow(cluster);
    const kubelet = resources.use(await Kubelet.start(cluster));
    const authority = await CertificateAuthority.create({ name: 'gateway' });
    const serving = await authority.issue({ commonName: 'gateway', usage: 'server' });
    const write = async (name: string, text: string): Promise<string> => {
      const file = path.join(folder, name);
      await writeFile(file, text, { mode: 0o600 });
      return file;
    };
    const gateway = resources.use(
      await Gateway.open({
        kubeconfigs: [
          await write(
            'clusters.kubeconfig',
            kubeconfigOf(cluster.url, cluster.authority.certificatePem, { real: gatewayToken }),
          ),
        ],
        listen: { host: '127.0.0.1', port: 0 },
        admin: { host: '127.0.0.1', port: 0 },
        tls: {
          certFile: await write('gateway.crt', serving.certPem),
          keyFile: await write('gateway.key', serving.keyPem),
        },
        tokenFile: await write(
          'tokens.csv',
          Object.entries(people)
            .map(([name, { token, group }]) => `${token},${name},,"${group}"\n`)
            .join(''),
        ),
        authorizationFile: await write('authorization.yaml', rules),
        logLevel: 'silent',
        limits: { drainTimeoutMs: 200 },
      }),
    );
    const tokens = Object.fromEntries(Object.entries(people).map(([name, { token }]) => [name, token]));
    const kubeconfig = await write(
      'kubeconfig',
      kubeconfigOf(`${gateway.url}/clusters/real`, authority.certificatePem, tokens),
    );
    return new RealStage({ cluster, kubelet, gateway, folder, kubeconfig }, resources.move());
  }

  person(kubectl: string, name: PersonName): Person {
    const kubeconfig = this.#kubeconfig;
    const argsOf = (args: Args): string[] => [
      '--context',
      name,
      ...(typeof args === 'string' ? args.split(' ') : args),
    ];
    const attempt = async (args: Args, stdin = '', environment: Environment = {}) =>
      runKubectl(kubectl, argsOf(args), { kubeconfig, stdin, environment, timeoutMs: 60_000 });
    const told = (args: Args, { stdout, stderr }: KubectlResult) =>
      `kubectl ${argsOf(args).join(' ')}\n${stdout}\n${stderr}`;
    return {
      try: attempt,
      run: async (args, stdin, environment) => {
        const result = await attempt(args, stdin, environment);
        assert.equal(result.code, 0, told(args, result));
        return result.stdout;
      },
      fail: async (args, stdin) => {
        const result = await attempt(args, stdin);
        assert.equal(result.code, 1, told(args, result));
        return result.stderr.trimEnd();
      },
      follow: async (args, environment = {}) =>
        KubectlStream.start(kubectl, argsOf(args), { kubeconfig, environment }),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}

const rules = `version: 1
rules:
  - name: admins-do-everything
    groups: [admins]
    clusters: ['*']
    verbs: ['*']
    apiGroups: ['*']
    resources: ['*']
    namespaces: ['*']
  - name: developers-do-what-the-cluster-lets-them
    groups: [developers]
    clusters: [real]
    verbs: [get, list, watch, create, update, patch, delete, deletecollection]
    apiGroups: ['*']
    resources: ['*']
    namespaces: ['*']
  - name: everybody-looks-around
    groups: ['*']
    clusters: ['*']
    verbs: [get]
    nonResourceURLs: ['*']
`;

/** In the cluster: as docs/callers.md says it, and no more. */
async function allow(cluster: RealCluster): Promise<void> {
  const group = 'rbac.authorization.k8s.io';
  const object = (kind: string, name: string) => ({ apiVersion: `${group}/v1`, kind, metadata: { name } });
  const clusterRole = (name: string) => ({ apiGroup: group, kind: 'ClusterRole', name });
  const root = `/apis/${group}/v1`;
  const impersonate = { apiGroups: [''], verbs: ['impersonate'] };
  const groups = { ...impersonate, resources: ['groups'], resourceNames: ['admins', 'developers'] };
  const objects: readonly (readonly [path: string, object: unknown])[] = [
    ['/api/v1/namespaces', { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'yard' } }],
    [
      `${root}/clusterroles`,
      { ...object('ClusterRole', gatewayUser), rules: [{ ...impersonate, resources: ['users'] }, groups] },
    ],
    [
      `${root}/clusterrolebindings`,
      {
        ...object('ClusterRoleBinding', gatewayUser),
        roleRef: clusterRole(gatewayUser),
        subjects: [{ apiGroup: group, kind: 'User', name: gatewayUser }],
      },
    ],
    [
      `${root}/clusterrolebindings`,
      {
        ...object('ClusterRoleBinding', 'admins'),
        roleRef: clusterRole('cluster-admin'),
        subjects: [{ apiGroup: group, kind: 'Group', name: 'admins' }],
      },
    ],
    [
      `${root}/namespaces/yard/rolebindings`,
      {
        ...object('RoleBinding', 'developers'),
        roleRef: clusterRole('edit'),
        subjects: [{ apiGroup: group, kind: 'Group', name: 'developers' }],
      },
    ],
  ];
  for (const [target, body] of objects) {
    const answer = await cluster.request('POST', target, body);
    assert.equal(answer.status, 201, await answer.text());
  }
}
