import assert from 'node:assert/strict';
import { at } from '../../kube-apiserver/json.ts';
import { configMap, configMapsIn, deployment, deploymentsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { ConformanceCase } from '../target.ts';

const mergePatch = 'application/merge-patch+json';

export const dryRunCases: readonly ConformanceCase[] = [
  {
    name: 'a dry run answers what would be stored, and stores nothing',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = deploymentsIn(namespace);
        const tried = await call(target, 'POST', `${path}?dryRun=All`, { body: deployment('web') });
        assert.deepEqual([tried.status, at(tried.body, 'spec', 'replicas')], [201, 1]);
        assert.equal((await call(target, 'GET', `${path}/web`)).status, 404);
        await call(target, 'POST', path, { body: deployment('web') });
        const patched = await call(target, 'PATCH', `${path}/web?dryRun=All`, {
          type: mergePatch,
          body: { spec: { replicas: 5 } },
        });
        assert.equal(at(patched.body, 'spec', 'replicas'), 5);
        assert.equal((await call(target, 'DELETE', `${path}/web?dryRun=All`)).status, 200);
        assert.equal(at((await call(target, 'GET', `${path}/web`)).body, 'spec', 'replicas'), 1);
      }),
  },
  {
    name: 'updates, scales and applies can be tried, too, and creations by apply',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        const apply = 'application/apply-patch+yaml';
        const born = await call(target, 'PATCH', `${path}/b?dryRun=All&fieldManager=m`, {
          type: apply,
          body: configMap('b', { x: '1' }),
        });
        assert.equal(born.status, 201);
        assert.equal((await call(target, 'GET', `${path}/b`)).status, 404);
        await call(target, 'POST', path, { body: configMap('a', { x: '1' }) });
        const put = await call(target, 'PUT', `${path}/a?dryRun=All`, { body: configMap('a', { x: '2' }) });
        assert.deepEqual([put.status, at(put.body, 'data', 'x')], [200, '2']);
        const applied = await call(target, 'PATCH', `${path}/a?dryRun=All&fieldManager=m`, {
          type: apply,
          body: configMap('a', { y: '1' }),
        });
        assert.deepEqual([applied.status, at(applied.body, 'data', 'y')], [200, '1']);
        assert.deepEqual(at((await call(target, 'GET', `${path}/a`)).body, 'data'), { x: '1' });
        const deployments = deploymentsIn(namespace);
        await call(target, 'POST', deployments, { body: deployment('web') });
        const scaled = await call(target, 'PATCH', `${deployments}/web/scale?dryRun=All`, {
          type: mergePatch,
          body: { spec: { replicas: 4 } },
        });
        assert.deepEqual([scaled.status, at(scaled.body, 'spec', 'replicas')], [200, 4]);
        assert.equal(at((await call(target, 'GET', `${deployments}/web`)).body, 'spec', 'replicas'), 1);
      }),
  },
  {
    name: 'a dry run is refused as the real write would be',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        await call(target, 'POST', path, { body: configMap('a', {}) });
        const status = async (method: string, to: string, body: unknown) =>
          (await call(target, method, to, { body })).status;
        assert.equal(await status('POST', `${path}?dryRun=All`, configMap('a', {})), 409);
        assert.equal(await status('POST', `${path}?dryRun=All`, configMap('Bad_Name', {})), 422);
        assert.equal(await status('PUT', `${path}/none?dryRun=All`, configMap('none', {})), 404);
      }),
  },
];
