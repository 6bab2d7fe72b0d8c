import assert from 'node:assert/strict';
import { at, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { openApiIndex } from '../openapi-index.ts';
import { call } from '../target.ts';
import type { ConformanceCase, Target } from '../target.ts';

async function documentUrl(target: Target, root: string): Promise<string> {
  return textAt(await openApiIndex(target), 'paths', root, 'serverRelativeURL');
}

export const openApiCases: readonly ConformanceCase[] = [
  {
    name: 'OpenAPI v3 names a document per group and version with the hash of its content, which is its ETag',
    run: async (target) => {
      const url = await documentUrl(target, 'apis/apps/v1');
      assert.match(url, /^\/openapi\/v3\/apis\/apps\/v1\?hash=[0-9A-F]+$/);
      const document = await call(target, 'GET', url);
      assert.equal(document.status, 200);
      assert.equal(document.headers.get('etag'), `"${url.split('=')[1]}"`);
      assert.match(document.headers.get('cache-control') ?? '', /immutable/);
      const again = await call(target, 'GET', url, {
        headers: { 'if-none-match': document.headers.get('etag') ?? '' },
      });
      assert.deepEqual([again.status, again.body], [304, '']);
      assert.equal((await call(target, 'GET', '/openapi/v3/apis/none/v1')).status, 404);
    },
  },
  {
    name: 'OpenAPI v3 describes a kind: its type with group, version and kind, how its lists are merged, and what patches it takes',
    run: async (target) => {
      const { body } = await call(target, 'GET', await documentUrl(target, 'apis/apps/v1'));
      const schemas = objectAt(body, 'components', 'schemas');
      const kindOf = (value: Json | undefined) => at(value, 'x-kubernetes-group-version-kind');
      assert.deepEqual(kindOf(schemas['io.k8s.api.apps.v1.Deployment']), [
        { group: 'apps', kind: 'Deployment', version: 'v1' },
      ]);
      const containers = objectAt(schemas, 'io.k8s.api.core.v1.PodSpec', 'properties', 'containers');
      assert.deepEqual(
        [
          containers['x-kubernetes-list-type'],
          containers['x-kubernetes-list-map-keys'],
          containers['x-kubernetes-patch-merge-key'],
        ],
        ['map', ['name'], 'name'],
      );
      const operations = objectAt(body, 'paths', '/apis/apps/v1/namespaces/{namespace}/deployments/{name}');
      assert.deepEqual(kindOf(operations['get']), { group: 'apps', kind: 'Deployment', version: 'v1' });
      for (const type of [
        'apply-patch+yaml',
        'json-patch+json',
        'merge-patch+json',
        'strategic-merge-patch+json',
      ])
        assert.ok(
          Object.hasOwn(objectAt(operations, 'patch', 'requestBody', 'content'), `application/${type}`),
          type,
        );
    },
  },
];
