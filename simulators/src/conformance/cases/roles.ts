import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { JsonObject } from '../../kube-apiserver/json.ts';
import {
  binding,
  clusterRole,
  clusterRoleBindingsPath,
  clusterRolesPath,
  create,
  grant,
  role,
  roleBindingsIn,
  rolesIn,
  subjects,
  untilAllowed,
  withClusterGrant,
} from '../granting.ts';
import { configMap, configMapsIn, deployment, deploymentsIn, podsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';
import { until } from '../until.ts';

/** As the guest, who has no right of its own. */
async function asGuest(target: Target, method: string, path: string, body?: JsonObject): Promise<Answer> {
  return call(target, method, path, {
    as: target.users.guest,
    ...(body === undefined ? {} : { body }),
  });
}

export const roleCases: readonly ConformanceCase[] = [
  {
    name: 'what no role allows is forbidden, in words that name user, verb, resource, group and scope',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const { username } = target.users.guest;
        const refused = async (method: string, path: string) => {
          const { status, body } = await asGuest(target, method, path);
          return [status, at(body, 'reason'), textAt(body, 'message'), at(body, 'details')];
        };
        assert.deepEqual(await refused('GET', podsIn(namespace)), [
          403,
          'Forbidden',
          `pods is forbidden: User "${username}" cannot list resource "pods" in API group "" in the namespace "${namespace}"`,
          { kind: 'pods' },
        ]);
        assert.deepEqual(await refused('GET', '/api/v1/nodes'), [
          403,
          'Forbidden',
          `nodes is forbidden: User "${username}" cannot list resource "nodes" in API group "" at the cluster scope`,
          { kind: 'nodes' },
        ]);
        assert.deepEqual(await refused('DELETE', `${deploymentsIn(namespace)}/web`), [
          403,
          'Forbidden',
          `deployments.apps "web" is forbidden: User "${username}" cannot delete resource "deployments" in API group "apps" in the namespace "${namespace}"`,
          { name: 'web', group: 'apps', kind: 'deployments' },
        ]);
        assert.deepEqual(await refused('GET', `${podsIn(namespace)}/web/log`), [
          403,
          'Forbidden',
          `pods "web" is forbidden: User "${username}" cannot get resource "pods/log" in API group "" in the namespace "${namespace}"`,
          { name: 'web', kind: 'pods' },
        ]);
        assert.deepEqual(await refused('GET', `/api/v1/namespaces/${namespace}`), [
          403,
          'Forbidden',
          `namespaces "${namespace}" is forbidden: User "${username}" cannot get resource "namespaces" in API group "" in the namespace "${namespace}"`,
          { name: namespace, kind: 'namespaces' },
        ]);
        assert.deepEqual(await refused('GET', '/metrics'), [
          403,
          'Forbidden',
          `forbidden: User "${username}" cannot get path "/metrics"`,
          {},
        ]);
        // Whether there is such a kind is nobody's business either.
        assert.equal((await asGuest(target, 'GET', '/apis/none.example/v1/nothings')).status, 403);
      }),
  },
  {
    name: 'a role counts in its namespace only, and only for the verbs, groups and resources that it names',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await grant(target, namespace, [
          { apiGroups: [''], resources: ['pods', 'configmaps'], verbs: ['get', 'create'] },
          { apiGroups: ['apps'], resources: ['deployments/scale'], verbs: ['*'] },
        ]);
        await untilAllowed(target, `${podsIn(namespace)}/web`);
        const statusOf = async (method: string, path: string) => (await asGuest(target, method, path)).status;
        assert.equal(await statusOf('GET', `${podsIn(namespace)}/web`), 404);
        assert.equal(await statusOf('GET', podsIn(namespace)), 403, 'another verb');
        assert.equal(
          await statusOf('GET', `${podsIn(namespace)}/web/log`),
          403,
          'a subresource is not included',
        );
        assert.equal(await statusOf('GET', `${podsIn('default')}/web`), 403, 'another namespace');
        assert.equal(await statusOf('GET', `${deploymentsIn(namespace)}/web`), 403, 'another group');
        assert.equal(await statusOf('GET', `${deploymentsIn(namespace)}/web/scale`), 404);
        const created = await asGuest(target, 'POST', configMapsIn(namespace), configMap('made', {}));
        assert.equal(created.status, 201);
      }),
  },
  {
    name: 'names of a role allow those objects, and what selects one of them by its name, and no creation',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = configMapsIn(namespace);
        await create(target, path, configMap('one', {}));
        await create(target, path, configMap('two', {}));
        await grant(target, namespace, [
          {
            apiGroups: [''],
            resources: ['configmaps'],
            verbs: ['get', 'list', 'create', 'delete'],
            resourceNames: ['one'],
          },
        ]);
        await untilAllowed(target, `${path}/one`);
        assert.equal((await asGuest(target, 'GET', `${path}/one`)).status, 200);
        assert.equal((await asGuest(target, 'GET', `${path}/two`)).status, 403);
        assert.equal((await asGuest(target, 'GET', path)).status, 403);
        const selected = await asGuest(target, 'GET', `${path}?fieldSelector=metadata.name%3Done`);
        assert.deepEqual(
          listAt(selected.body, 'items').map((item) => at(item, 'metadata', 'name')),
          ['one'],
        );
        assert.equal(
          (await asGuest(target, 'GET', `${path}?fieldSelector=metadata.name%21%3Done`)).status,
          403,
        );
        assert.equal((await asGuest(target, 'POST', path, configMap('one', {}))).status, 403);
        assert.equal((await asGuest(target, 'DELETE', `${path}/one`)).status, 200);
      }),
  },
  {
    name: 'stars stand for all: */scale for the scale of every resource, * for every resource with its subresources',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await create(target, deploymentsIn(namespace), deployment('web'));
        await grant(target, namespace, [
          { apiGroups: ['apps'], resources: ['*/scale'], verbs: ['get'] },
          { apiGroups: [''], resources: ['*'], verbs: ['*'] },
        ]);
        await untilAllowed(target, podsIn(namespace));
        assert.equal((await asGuest(target, 'GET', `${deploymentsIn(namespace)}/web/scale`)).status, 200);
        assert.equal((await asGuest(target, 'GET', `${deploymentsIn(namespace)}/web`)).status, 403);
        assert.equal((await asGuest(target, 'GET', `${podsIn(namespace)}/none/log`)).status, 404);
        assert.equal((await asGuest(target, 'DELETE', configMapsIn(namespace))).status, 200);
      }),
  },
  {
    name: 'a cluster role that is bound in a namespace counts there, and one that is bound in the cluster everywhere',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const to = [subjects.user(target.users.guest)];
        const name = `conformance:${namespace}`;
        const roleRef = { kind: 'ClusterRole', name } as const;
        const rules = [{ apiGroups: [''], resources: ['pods', 'namespaces'], verbs: ['get', 'list'] }];
        const statusOf = async (path: string) => (await asGuest(target, 'GET', path)).status;
        await create(target, clusterRolesPath, clusterRole(name, rules));
        try {
          await create(target, roleBindingsIn(namespace), binding('RoleBinding', 'here', roleRef, to));
          await untilAllowed(target, podsIn(namespace));
          assert.equal(await statusOf(`/api/v1/namespaces/${namespace}`), 200);
          assert.equal(await statusOf(podsIn('default')), 403);
          assert.equal(await statusOf('/api/v1/pods'), 403);
          const everywhere = binding('ClusterRoleBinding', name, roleRef, to);
          await create(target, clusterRoleBindingsPath, everywhere);
          await untilAllowed(target, '/api/v1/pods');
          assert.equal(await statusOf(podsIn('default')), 200);
        } finally {
          await call(target, 'DELETE', `${clusterRoleBindingsPath}/${name}`);
          await call(target, 'DELETE', `${clusterRolesPath}/${name}`);
        }
        await until(async () => (await statusOf('/api/v1/pods')) === 403);
      }),
  },
  {
    name: 'paths that are no resources are allowed one by one, or by what they begin with',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const rules = [{ nonResourceURLs: [`/one-${namespace}`, `/many-${namespace}/*`], verbs: ['get'] }];
        const statusOf = async (method: string, path: string) => (await asGuest(target, method, path)).status;
        await withClusterGrant(target, namespace, rules, async () => {
          await untilAllowed(target, `/one-${namespace}`);
          assert.equal(await statusOf('GET', `/one-${namespace}`), 404);
          assert.equal(await statusOf('GET', `/one-${namespace}/more`), 403);
          assert.equal(await statusOf('GET', `/many-${namespace}/a/b`), 404);
          assert.equal(await statusOf('GET', `/many-${namespace}`), 403);
          assert.equal(await statusOf('POST', `/one-${namespace}`), 403);
        });
      }),
  },
  {
    name: 'a binding is for users, groups and service accounts; a service account may leave out its namespace',
    needs: 'impersonation',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }];
        const account = { kind: 'ServiceAccount', name: 'near' };
        await grant(target, namespace, rules, [
          subjects.group('conformance'),
          subjects.serviceAccount('elsewhere', 'far'),
          account,
        ]);
        await untilAllowed(target, podsIn(namespace));
        const statusAs = async (user: string) =>
          (await call(target, 'GET', podsIn(namespace), { headers: { 'impersonate-user': user } })).status;
        assert.equal(await statusAs('system:serviceaccount:elsewhere:far'), 200);
        assert.equal(await statusAs(`system:serviceaccount:${namespace}:near`), 200);
        assert.equal(await statusAs(`system:serviceaccount:${namespace}:far`), 403);
        assert.equal(await statusAs('near'), 403);
        assert.equal(await statusAs('conformance'), 403, 'a group is no user');
      }),
  },
  {
    name: 'a right goes with its binding; a binding to a role that is not there gives none, and the refusal names it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await grant(target, namespace, [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }]);
        await untilAllowed(target, podsIn(namespace));
        await call(target, 'DELETE', `${rolesIn(namespace)}/granted`);
        await until(async () => {
          const { status, body } = await asGuest(target, 'GET', podsIn(namespace));
          const why = ': RBAC: role.rbac.authorization.k8s.io "granted" not found';
          return status === 403 && textAt(body, 'message').endsWith(why);
        });
        await call(target, 'DELETE', `${roleBindingsIn(namespace)}/granted`);
        await until(async () => {
          const { status, body } = await asGuest(target, 'GET', podsIn(namespace));
          return status === 403 && !textAt(body, 'message').includes('RBAC');
        });
      }),
  },
  {
    name: 'roles and bindings that make no sense are refused; the role of a binding stays what it is',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const refused = async (method: string, path: string, body: JsonObject) => {
          const answer = await call(target, method, path, { body });
          assert.equal(answer.status, 422, textAt(answer.body, 'message'));
          return listAt(answer.body, 'details', 'causes').map((cause) => [
            at(cause, 'field'),
            textAt(cause, 'message').split(': ').at(-1),
          ]);
        };
        const rules = [{ resources: ['pods'], verbs: [] }];
        assert.deepEqual(await refused('POST', rolesIn(namespace), role('empty', rules)), [
          ['rules[0].verbs', 'verbs must contain at least one value'],
          ['rules[0].apiGroups', 'resource rules must supply at least one api group'],
        ]);
        const paths = [{ nonResourceURLs: ['/x'], verbs: ['get'] }];
        assert.deepEqual(await refused('POST', rolesIn(namespace), role('paths', paths)), [
          ['rules[0].nonResourceURLs', 'namespaced rules cannot apply to non-resource URLs'],
        ]);
        const view = { kind: 'ClusterRole', name: 'view' } as const;
        const odd = binding('RoleBinding', 'odd', view, [{ kind: 'Robot', name: 'x' }]);
        assert.deepEqual(await refused('POST', roleBindingsIn(namespace), odd), [
          ['subjects[0].kind', '"ServiceAccount", "User", "Group"'],
        ]);
        const given = binding('RoleBinding', 'Up:per_case', view, []);
        const stored = await create(target, roleBindingsIn(namespace), given);
        const edit = { ...stored, roleRef: { ...objectAt(stored, 'roleRef'), name: 'edit' } };
        assert.deepEqual(await refused('PUT', `${roleBindingsIn(namespace)}/Up:per_case`, edit), [
          ['roleRef', 'cannot change roleRef'],
        ]);
      }),
  },
  {
    name: 'a cluster begins with roles for administrators, for those who work in a namespace and for everybody',
    run: async (target) => {
      for (const name of [
        'admin',
        'cluster-admin',
        'edit',
        'system:basic-user',
        'system:discovery',
        'view',
      ]) {
        const { status, body } = await call(target, 'GET', `${clusterRolesPath}/${name}`);
        const label = textAt(body, 'metadata', 'labels', 'kubernetes.io/bootstrapping');
        assert.deepEqual([status, label], [200, 'rbac-defaults'], name);
      }
      const groupsOf = async (name: string) =>
        listAt((await call(target, 'GET', `${clusterRoleBindingsPath}/${name}`)).body, 'subjects').map(
          (subject) => textAt(subject, 'name'),
        );
      assert.deepEqual(await groupsOf('cluster-admin'), ['system:masters']);
      assert.deepEqual(await groupsOf('system:discovery'), ['system:authenticated']);
      assert.deepEqual((await groupsOf('system:public-info-viewer')).toSorted(), [
        'system:authenticated',
        'system:unauthenticated',
      ]);
      const discovery = await Promise.all(
        ['/api', '/apis/apps/v1', '/version', '/openapi/v3', '/livez'].map(
          async (path) => (await asGuest(target, 'GET', path)).status,
        ),
      );
      assert.deepEqual(discovery, [200, 200, 200, 200, 200]);
    },
  },
  {
    name: 'a cluster role with the label of another is collected into it, and out of it again',
    needs: 'controllers',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const name = `conformance:${namespace}`;
        const rule = { apiGroups: [`${namespace}.example`], resources: ['widgets'], verbs: ['get'] };
        const label = { 'rbac.authorization.k8s.io/aggregate-to-view': 'true' };
        const has = async (collecting: string) =>
          listAt((await call(target, 'GET', `${clusterRolesPath}/${collecting}`)).body, 'rules').some(
            (each) => at(each, 'apiGroups', 0) === `${namespace}.example`,
          );
        await create(target, clusterRolesPath, clusterRole(name, [rule], label));
        try {
          await until(async () => (await has('view')) && (await has('edit')) && (await has('admin')));
        } finally {
          await call(target, 'DELETE', `${clusterRolesPath}/${name}`);
        }
        await until(async () => !(await has('view')) && !(await has('edit')) && !(await has('admin')));
      }),
  },
];
