import assert from 'node:assert/strict';
import { at, objectAt } from '../../kube-apiserver/json.ts';
import { deployment, deploymentsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { ConformanceCase } from '../target.ts';

const mergePatch = 'application/merge-patch+json';

export const subresourceCases: readonly ConformanceCase[] = [
  {
    name: 'scale shows the replicas of a deployment with its selector, and takes a number by patch and by update',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = deploymentsIn(namespace);
        await call(target, 'POST', path, { body: deployment('web') });
        const scale = await call(target, 'GET', `${path}/web/scale`);
        assert.deepEqual([at(scale.body, 'kind'), at(scale.body, 'apiVersion')], ['Scale', 'autoscaling/v1']);
        assert.deepEqual(
          [at(scale.body, 'spec', 'replicas'), at(scale.body, 'status', 'selector')],
          [1, 'app=web'],
        );
        const patched = await call(target, 'PATCH', `${path}/web/scale`, {
          type: mergePatch,
          body: { spec: { replicas: 4 } },
        });
        assert.deepEqual([patched.status, at(patched.body, 'spec', 'replicas')], [200, 4]);
        const updated = await call(target, 'PUT', `${path}/web/scale`, {
          body: { ...objectAt(patched.body), metadata: { name: 'web', namespace }, spec: { replicas: 2 } },
        });
        assert.equal(at(updated.body, 'spec', 'replicas'), 2);
        const stale = await call(target, 'PUT', `${path}/web/scale`, { body: scale.body });
        assert.deepEqual([stale.status, at(stale.body, 'reason')], [409, 'Conflict']);
        const live = await call(target, 'GET', `${path}/web`);
        assert.equal(at(live.body, 'spec', 'replicas'), 2);
      }),
  },
  {
    name: 'status is written through its subresource only, and the rest not through it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = deploymentsIn(namespace);
        const created = await call(target, 'POST', path, {
          body: { ...deployment('web'), status: { replicas: 9 } },
        });
        assert.equal(at(created.body, 'status', 'replicas') ?? 0, 0);
        const body = { spec: { minReadySeconds: 7 }, status: { conditions: [condition] } };
        const status = await call(target, 'PATCH', `${path}/web/status`, { type: mergePatch, body });
        assert.deepEqual([at(status.body, 'spec', 'minReadySeconds') ?? 0], [0]);
        assert.equal(at(status.body, 'status', 'conditions', 0, 'type'), 'Odd');
        assert.equal(at(status.body, 'metadata', 'generation'), at(created.body, 'metadata', 'generation'));
        const main = await call(target, 'PATCH', `${path}/web`, {
          type: mergePatch,
          body: { spec: { minReadySeconds: 7 }, status: { conditions: [] } },
        });
        assert.equal(at(main.body, 'spec', 'minReadySeconds'), 7);
        assert.ok(
          Number(at(main.body, 'metadata', 'generation')) >
            Number(at(created.body, 'metadata', 'generation')),
        );
      }),
  },
];

const condition = {
  type: 'Odd',
  status: 'True',
  reason: 'Said',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
