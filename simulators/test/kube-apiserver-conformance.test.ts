// The conformance cases, which say what an apiserver does, on the simulated one.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { canRun, conformanceCases } from '../src/conformance/index.ts';
import type { Target } from '../src/conformance/index.ts';
import { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';

describe('conformance', { concurrency: 4 }, () => {
  for (const each of conformanceCases) {
    test(each.name, async () => {
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
        controllers: true,
        compact: async () => server.store.compact(),
      };
      assert.ok(canRun(each, target), 'the simulator lacks nothing that a case may need');
      await each.run(target);
    });
  }
});
