import assert from 'node:assert/strict';
import { test } from 'node:test';
import { at, textAt } from '../src/kube-apiserver/json.ts';
import { call, configMap, configMaps, startServer } from './kube-apiserver-client.ts';

test('what a client may not do is refused with the code, reason and details of the real server', async () => {
  await using server = await startServer();
  await call(server, 'POST', configMaps, { body: configMap('one') });
  const refusals = [
    ['GET', `${configMaps}/none`, undefined, 404, 'NotFound', 'configmaps "none" not found'],
    ['POST', configMaps, configMap('one'), 409, 'AlreadyExists', 'configmaps "one" already exists'],
    [
      'POST',
      '/api/v1/namespaces/none/configmaps',
      { metadata: { name: 'a' } },
      404,
      'NotFound',
      'namespaces "none" not found',
    ],
    [
      'POST',
      configMaps,
      configMap('Not_A_Name'),
      422,
      'Invalid',
      /^ConfigMap "Not_A_Name" is invalid: metadata.name: /,
    ],
    [
      'POST',
      configMaps,
      { ...configMap('a'), kind: 'Secret' },
      400,
      'BadRequest',
      /cannot be handled as a ConfigMap/,
    ],
    ['POST', configMaps, { ...configMap('a'), metadata: { name: 7 } }, 400, 'BadRequest', /metadata.name/],
    ['PUT', `${configMaps}/one`, configMap('two'), 400, 'BadRequest', /does not match the name on the URL/],
    ['POST', `${configMaps}/one`, configMap('one'), 405, 'MethodNotAllowed', /does not allow this method/],
    [
      'GET',
      '/api/v1/namespaces/default/unicorns',
      undefined,
      404,
      'NotFound',
      'the server could not find the requested resource',
    ],
    [
      'GET',
      '/apis/none/v1/things',
      undefined,
      404,
      'NotFound',
      'the server could not find the requested resource',
    ],
    [
      'POST',
      '/api/v1/namespaces/default/pods',
      { metadata: { name: 'a' } },
      422,
      'Invalid',
      'Pod "a" is invalid: spec.containers: Required value',
    ],
    ['GET', `${configMaps}/%zz`, undefined, 400, 'BadRequest', 'invalid URL escape in the path'],
  ] as const;
  for (const [method, path, body, code, reason, message] of refusals) {
    const answer = await call(server, method, path, body === undefined ? {} : { body });
    assert.equal(answer.status, code, `${method} ${path}`);
    assert.deepEqual(
      {
        kind: at(answer.body, 'kind'),
        status: at(answer.body, 'status'),
        reason: at(answer.body, 'reason'),
        code: at(answer.body, 'code'),
      },
      { kind: 'Status', status: 'Failure', reason, code },
    );
    if (typeof message === 'string') assert.equal(at(answer.body, 'message'), message);
    else assert.match(textAt(answer.body, 'message'), message);
  }
});

test('a body above 3 MiB is refused with 413, and one of a wrong type with 415', async () => {
  await using server = await startServer();
  const large = await call(server, 'POST', configMaps, {
    body: configMap('one', { a: 'x'.repeat(3 * 1024 * 1024) }),
  });
  assert.deepEqual([large.status, at(large.body, 'reason')], [413, 'RequestEntityTooLarge']);
  const odd = await call(server, 'POST', configMaps, { body: {}, type: 'text/csv' });
  assert.deepEqual([odd.status, at(odd.body, 'reason')], [415, 'UnsupportedMediaType']);
  const broken = await call(server, 'POST', configMaps, { body: new Uint8Array([0x7b]) });
  assert.deepEqual([broken.status, at(broken.body, 'reason')], [400, 'BadRequest']);
});
