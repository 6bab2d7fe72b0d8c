import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { call } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';
import { until } from '../until.ts';
import { withWidgets } from '../widgets.ts';

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

async function discover(
  target: Target,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  return call(target, 'GET', path, { headers: { accept: `${aggregated},application/json`, ...headers } });
}

function named(list: readonly Json[], field: string, name: string): Json | undefined {
  return list.find((item) => textAt(item, field) === name);
}

/** Of the first version of a group. */
function resourceOf({ body }: Answer, group: string, resource: string): Json | undefined {
  const item = listAt(body, 'items').find((each) => textAt(each, 'metadata', 'name') === group);
  return named(listAt(item, 'versions', 0, 'resources'), 'resource', resource);
}

function groupNames({ body }: Answer): readonly string[] {
  return listAt(body, 'items').map((item) => textAt(item, 'metadata', 'name'));
}

/** A kind of the core group. Its own version goes without saying, and a real server says it for a while only. */
function assertKind(resource: Json | undefined, kind: string): void {
  const version = textAt(resource, 'responseKind', 'version');
  assert.ok(version === 'v1' || version === '', version);
  assert.deepEqual(at(resource, 'responseKind'), { group: '', version, kind });
}

export const discoveryCases: readonly ConformanceCase[] = [
  {
    name: 'asked for by Accept, /api and /apis tell every group, version and resource at once, with scope, verbs and names',
    run: async (target) => {
      const core = await discover(target, '/api');
      assert.equal(core.status, 200);
      assert.equal(core.headers.get('content-type'), aggregated);
      assert.deepEqual(
        [at(core.body, 'kind'), at(core.body, 'apiVersion')],
        ['APIGroupDiscoveryList', 'apidiscovery.k8s.io/v2'],
      );
      assert.deepEqual(groupNames(core), ['']);
      const pods = objectAt(resourceOf(core, '', 'pods'));
      assert.deepEqual(
        [pods['scope'], pods['singularResource'], pods['shortNames'], pods['categories']],
        ['Namespaced', 'pod', ['po'], ['all']],
      );
      assertKind(pods, 'Pod');
      assert.deepEqual(listAt(pods, 'verbs').map(String).toSorted(), [
        'create',
        'delete',
        'deletecollection',
        'get',
        'list',
        'patch',
        'update',
        'watch',
      ]);
      const status = named(listAt(pods, 'subresources'), 'subresource', 'status');
      assertKind(status, 'Pod');
      assert.equal(at(resourceOf(core, '', 'nodes'), 'scope'), 'Cluster');
      const groups = await discover(target, '/apis');
      const deployments = resourceOf(groups, 'apps', 'deployments');
      const scale = named(listAt(deployments, 'subresources'), 'subresource', 'scale');
      assert.deepEqual(at(scale, 'responseKind'), { group: 'autoscaling', version: 'v1', kind: 'Scale' });
      assert.equal(at(groups.body, 'items', 0, 'versions', 0, 'freshness'), 'Current');
    },
  },
  {
    name: 'aggregated discovery says the same as the documents of each group and version',
    run: async (target) => {
      const groups = await discover(target, '/apis');
      const { body } = await call(target, 'GET', '/apis');
      assert.deepEqual(
        groupNames(groups),
        listAt(body, 'groups').map((group) => at(group, 'name')),
      );
      const list = await call(target, 'GET', '/apis/apps/v1');
      const listed = listAt(list.body, 'resources').map((resource) => textAt(resource, 'name'));
      const item = listAt(groups.body, 'items').find((each) => textAt(each, 'metadata', 'name') === 'apps');
      const told = listAt(item, 'versions', 0, 'resources').flatMap((resource) => {
        const name = textAt(resource, 'resource');
        const below = listAt(resource, 'subresources');
        return [name, ...below.map((each) => `${name}/${textAt(each, 'subresource')}`)];
      });
      assert.deepEqual(told.toSorted(), listed.toSorted());
    },
  },
  {
    name: 'who asks for aggregated discovery gets it, even behind plain JSON; others get the plain documents, or 406 where they want neither',
    run: async (target) => {
      const kinds = async (accept: string) => {
        const answers = await Promise.all(
          ['/api', '/apis'].map(async (path) => call(target, 'GET', path, { headers: { accept } })),
        );
        return answers.map(({ body }) => at(body, 'kind'));
      };
      const plain = ['APIVersions', 'APIGroupList'];
      assert.deepEqual(await kinds('application/json'), plain);
      assert.deepEqual(await kinds('*/*'), plain);
      const told = ['APIGroupDiscoveryList', 'APIGroupDiscoveryList'];
      assert.deepEqual(await kinds(`application/json,${aggregated}`), told);
      assert.deepEqual(await kinds(`${aggregated};q=0.5,application/json`), told);
      const unknown = aggregated.replace('v=v2', 'v=v9');
      assert.deepEqual(await kinds(`${unknown},application/json`), plain);
      const neither = await call(target, 'GET', '/apis', { headers: { accept: unknown } });
      assert.equal(neither.status, 406);
      assert.equal(at((await discover(target, '/apis/apps')).body, 'kind'), 'APIGroup');
    },
  },
  {
    name: 'aggregated discovery has an ETag that stays until another kind is served, and 304 for who knows it',
    run: async (target) => {
      const first = await discover(target, '/apis');
      const etag = first.headers.get('etag') ?? '';
      assert.match(etag, /^"[0-9A-F]{128}"$/);
      assert.match(first.headers.get('vary') ?? '', /Accept/);
      const again = await discover(target, '/apis', { 'if-none-match': etag });
      assert.deepEqual([again.status, again.body, again.headers.get('etag')], [304, '', etag]);
      const changed = async (since: string) => {
        const answer = await discover(target, '/apis', { 'if-none-match': since });
        return answer.status === 200;
      };
      await withWidgets(target, 'aggregated.example.com', async ({ group }) => {
        await until(async () => changed(etag));
        await until(async () => groupNames(await discover(target, '/apis')).includes(group));
        const widgets = objectAt(resourceOf(await discover(target, '/apis'), group, 'widgets'));
        assert.deepEqual(
          [widgets['responseKind'], widgets['shortNames'], widgets['categories']],
          [{ group, version: 'v1', kind: 'Widget' }, ['wd'], ['things']],
        );
        assert.deepEqual(
          listAt(widgets, 'subresources')
            .map((each) => textAt(each, 'subresource'))
            .toSorted(),
          ['scale', 'status'],
        );
        assert.equal((await discover(target, '/api', { 'if-none-match': etag })).status, 200);
      });
      // It is of what is served, not of when: when the kind has gone, it is what it was.
      await until(async () => (await discover(target, '/apis')).headers.get('etag') === etag);
    },
  },
];
