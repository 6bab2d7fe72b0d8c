/** The conformance cases, which the simulated apiserver is held to, on a real one: that what they say is true. */

import { after, before, describe, test } from 'node:test';
import { conformanceCases } from '@roundhouse/simulators/conformance';
import type { ConformanceCase, Target } from '@roundhouse/simulators/conformance';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { programsOf, RealCluster } from './real-cluster.ts';
import type { RealClusterOptions } from './real-cluster.ts';

const guest = { username: 'guest', groups: ['conformance'] };

async function judge(
  options: RealClusterOptions,
  cases: readonly ConformanceCase[],
  concurrency: number,
): Promise<void> {
  const { controllers = false, watchCache = true } = options;
  const title = `conformance of a real kube-apiserver${watchCache ? '' : ' that reads from etcd alone'}`;
  const skip = await whyNoGoPrograms(programsOf(options));
  describe(title, { concurrency, skip: skip ?? false }, () => {
    const resources = new AsyncDisposableStack();
    let target: Target;
    before(async () => {
      const cluster = resources.use(await RealCluster.start({ ...options, users: { guest } }));
      target = {
        url: cluster.url,
        fetch: cluster.fetch,
        users: {
          admin: { token: cluster.adminToken, username: 'admin' },
          guest: { token: 'guest', username: guest.username },
        },
        controllers,
        compact: async () => cluster.compact(),
      };
    });
    after(async () => resources.disposeAsync());

    for (const each of cases) test(each.name, async () => each.run(target));
  });
}

// What was compacted is gone for every case beside it, and an apiserver that remembers would still know it.
const compacting = conformanceCases.filter(({ needs }) => needs === 'compaction');
await judge(
  { controllers: true },
  conformanceCases.filter((each) => !compacting.includes(each)),
  1,
);
await judge({ watchCache: false }, compacting, 1);
