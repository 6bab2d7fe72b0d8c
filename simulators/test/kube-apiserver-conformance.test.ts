// The conformance cases, which say what an apiserver does, on the simulated one.

import { describe, test } from 'node:test';
import { conformanceCases } from '../src/conformance/index.ts';
import type { Target } from '../src/conformance/index.ts';
import { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';

describe('conformance', { concurrency: 4 }, () => {
  for (const { name, run } of conformanceCases) {
    test(name, async () => {
      await using server = await KubeApiserver.listen({
        name: 'conformance',
        authentication: {
          tokens: {
            admin: { username: 'admin', groups: ['system:masters'] },
            guest: { username: 'guest', groups: ['conformance'] },
          },
        },
      });
      const target: Target = {
        url: server.url,
        fetch: async (url, init) => fetch(url, init),
        users: {
          admin: { token: 'admin', username: 'admin' },
          guest: { token: 'guest', username: 'guest' },
        },
      };
      await run(target);
    });
  }
});
