import assert from 'node:assert/strict';
import { at, textAt } from '../../kube-apiserver/json.ts';
import { deployment, deploymentsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { ConformanceCase } from '../target.ts';

const mergePatch = 'application/merge-patch+json';
const { spec, ...plain } = deployment('odd');
const containers = [{ name: 'main', image: 'image:1', imag: 'x' }];
const template = { ...spec.template, spec: { containers } };
const odd = { ...plain, extra: 1, spec: { ...spec, replicass: 2, template } };

export const fieldValidationCases: readonly ConformanceCase[] = [
  {
    name: 'fieldValidation=Strict refuses unknown fields with 400, and names all of them',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = deploymentsIn(namespace);
        const refused = await call(target, 'POST', `${path}?fieldValidation=Strict`, { body: odd });
        assert.deepEqual([refused.status, at(refused.body, 'reason')], [400, 'BadRequest']);
        const message = textAt(refused.body, 'message');
        assert.match(
          message,
          /^Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: /,
        );
        assert.match(message, /unknown field "extra"/);
        assert.match(message, /unknown field "spec\.replicass"/);
        assert.match(message, /unknown field "spec\.template\.spec\.containers\[0\]\.imag"/);
        assert.equal((await call(target, 'GET', `${path}/odd`)).status, 404);
      }),
  },
  {
    name: 'fieldValidation=Warn drops unknown fields with a warning each, and is what a request without the word gets',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        for (const query of ['dryRun=All', 'dryRun=All&fieldValidation=Warn']) {
          const warned = await call(target, 'POST', `${deploymentsIn(namespace)}?${query}`, { body: odd });
          assert.equal(warned.status, 201);
          const warnings = warned.headers.get('warning') ?? '';
          assert.ok(warnings.includes(String.raw`299 - "unknown field \"extra\""`), warnings);
          assert.ok(warnings.includes(String.raw`299 - "unknown field \"spec.replicass\""`), warnings);
          assert.deepEqual(
            [at(warned.body, 'extra'), at(warned.body, 'spec', 'replicass')],
            [undefined, undefined],
          );
        }
      }),
  },
  {
    name: 'fieldValidation=Ignore drops unknown fields and says nothing',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${deploymentsIn(namespace)}?dryRun=All&fieldValidation=Ignore`;
        const ignored = await call(target, 'POST', path, { body: odd });
        assert.deepEqual(
          [ignored.status, ignored.headers.get('warning'), at(ignored.body, 'extra')],
          [201, null, undefined],
        );
      }),
  },
  {
    name: 'fieldValidation goes for updates and patches, too: a strict patch that brings in an unknown field is 422',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${deploymentsIn(namespace)}/odd`;
        await call(target, 'POST', deploymentsIn(namespace), { body: deployment('odd') });
        const put = await call(target, 'PUT', `${path}?fieldValidation=Strict`, { body: odd });
        assert.equal(put.status, 400);
        const patch = { type: mergePatch, body: { spec: { replicas: 2, replicass: 2 } } };
        const strict = await call(target, 'PATCH', `${path}?fieldValidation=Strict`, patch);
        assert.equal(strict.status, 422);
        assert.match(
          textAt(strict.body, 'message'),
          /strict decoding error: unknown field "spec\.replicass"/,
        );
        const warned = await call(target, 'PATCH', path, patch);
        assert.deepEqual([warned.status, at(warned.body, 'spec', 'replicas')], [200, 2]);
        assert.match(warned.headers.get('warning') ?? '', /unknown field \\"spec\.replicass\\"/);
      }),
  },
  {
    name: 'a value of another type is 400, whatever the word is',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const body = { ...deployment('a'), spec: { ...deployment('a').spec, replicas: 'two' } };
        const path = `${deploymentsIn(namespace)}?fieldValidation=Ignore`;
        const refused = await call(target, 'POST', path, { body });
        assert.equal(refused.status, 400);
        assert.match(
          textAt(refused.body, 'message'),
          /json: cannot unmarshal string into Go struct field .*replicas of type int32/,
        );
      }),
  },
];
