/**
 * The conformance cases, which the simulated apiserver is held to, on a real one: that what they say is true. And once more through the
 * gateway: that it changes nothing of it.
 */

import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Gateway } from '@roundhouse/gateway';
import { conformanceCases } from '@roundhouse/simulators/conformance';
import type { ConformanceCase, Target } from '@roundhouse/simulators/conformance';
import { kubeconfigOf } from './kubeconfig-of.ts';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { programsOf, RealCluster } from './real-cluster.ts';
import type { RealClusterOptions } from './real-cluster.ts';

const guest = { username: 'guest', groups: ['conformance'] };

interface Trial {
  readonly title: string;
  readonly cluster: RealClusterOptions;
  readonly cases: readonly ConformanceCase[];
  /** The gateway passes the callers' own tokens on. */
  readonly throughGateway?: boolean;
}

async function judge({ title, cluster: options, cases, throughGateway = false }: Trial): Promise<void> {
  const skip = await whyNoGoPrograms(programsOf(options));
  describe(title, { skip: skip ?? false }, () => {
    const resources = new AsyncDisposableStack();
    let target: Target;
    before(async () => {
      const cluster = resources.use(await RealCluster.start({ ...options, users: { guest } }));
      target = {
        url: throughGateway ? await openGateway(cluster, resources) : cluster.url,
        fetch: throughGateway ? async (url, init) => fetch(url, init) : cluster.fetch,
        users: {
          admin: { token: cluster.adminToken, username: 'admin' },
          guest: { token: 'guest', username: guest.username },
        },
        controllers: options.controllers === true,
        impersonation: !throughGateway,
        compact: async () => cluster.compact(),
      };
    });
    after(async () => resources.disposeAsync());

    // One after the other: some look at what all of them see, such as the list of what is served.
    for (const each of cases) test(each.name, async () => each.run(target));
  });
}

/** The address of the cluster behind a gateway, which has no credential there. */
async function openGateway(cluster: RealCluster, resources: AsyncDisposableStack): Promise<string> {
  const folder = resources.use(await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-conformance-')));
  const kubeconfig = path.join(folder.path, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigOf(cluster.url, cluster.authority.certificatePem, { real: '' }));
  const gateway = resources.use(
    await Gateway.open({
      kubeconfigs: [kubeconfig],
      listen: { host: '127.0.0.1', port: 0 },
      admin: { host: '127.0.0.1', port: 0 },
      identity: 'passthrough',
      logLevel: 'silent',
      limits: { drainTimeoutMs: 200 },
    }),
  );
  return `${gateway.url}/clusters/real`;
}

// What was compacted is gone for every case beside it, and an apiserver that remembers would still know it.
const compacting = conformanceCases.filter(({ needs }) => needs === 'compaction');
const others = conformanceCases.filter((each) => !compacting.includes(each));
await judge({
  title: 'conformance of a real kube-apiserver',
  cluster: { controllers: true },
  cases: others,
});
await judge({
  title: 'conformance of a real kube-apiserver that reads from etcd alone',
  cluster: { watchCache: false },
  cases: compacting,
});
await judge({
  title: 'conformance of a real kube-apiserver through the gateway',
  cluster: { controllers: true },
  // There it is the gateway that says who is calling.
  cases: others.filter(({ needs }) => needs !== 'impersonation'),
  throughGateway: true,
});
