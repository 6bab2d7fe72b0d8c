import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, textAt } from '../src/kube-apiserver/json.ts';
import { call, configMap, configMaps, pod, startServer } from './kube-apiserver-client.ts';

const pods = '/api/v1/namespaces/default/pods';
const odd = {
  ...pod('odd'),
  spec: { containers: [{ name: 'main', image: 'image:1', imag: 'x' }] },
  extra: 1,
};

test('unknown fields are left out with a warning each, silently, or refused, as the request says', async () => {
  await using server = await startServer();
  const warned = await call(server, 'POST', `${pods}?dryRun=All`, { body: odd });
  assert.equal(
    warned.headers.get('warning'),
    String.raw`299 - "unknown field \"spec.containers[0].imag\"", 299 - "unknown field \"extra\""`,
  );
  assert.equal(at(warned.body, 'extra'), undefined);
  assert.equal(at(warned.body, 'spec', 'containers', 0, 'imag'), undefined);
  const ignored = await call(server, 'POST', `${pods}?dryRun=All&fieldValidation=Ignore`, { body: odd });
  assert.deepEqual([ignored.status, ignored.headers.get('warning')], [201, null]);
  const strict = await call(server, 'POST', `${pods}?fieldValidation=Strict`, { body: odd });
  assert.deepEqual(
    [strict.status, at(strict.body, 'message')],
    [
      400,
      'Pod in version "v1" cannot be handled as a Pod: strict decoding error: unknown field "spec.containers[0].imag", unknown field "extra"',
    ],
  );
  assert.equal((await call(server, 'POST', `${pods}?fieldValidation=Odd`, { body: odd })).status, 422);
});

test('a strict patch that brings in an unknown field is 422, and changes nothing', async () => {
  await using server = await startServer();
  await call(server, 'POST', configMaps, { body: configMap('a') });
  const refused = await call(server, 'PATCH', `${configMaps}/a?fieldValidation=Strict`, {
    type: 'application/merge-patch+json',
    body: { date: 1, data: { x: '1' } },
  });
  assert.equal(refused.status, 422);
  assert.match(textAt(refused.body, 'message'), /strict decoding error: unknown field "date"$/);
  assert.deepEqual(at((await call(server, 'GET', `${configMaps}/a`)).body, 'data'), {});
});

test('a value of another type is 400 and names the field', async () => {
  await using server = await startServer();
  for (const [body, message] of [
    [
      { ...configMap('a'), data: { x: 1 } },
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    [
      { ...configMap('a'), immutable: 'yes' },
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ConfigMap.immutable of type bool',
    ],
  ] as const) {
    const refused = await call(server, 'POST', configMaps, { body });
    assert.deepEqual([refused.status, at(refused.body, 'message')], [400, message]);
  }
});
