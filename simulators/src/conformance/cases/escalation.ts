import assert from 'node:assert/strict';
import { at, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { JsonObject } from '../../kube-apiserver/json.ts';
import {
  binding,
  clusterRole,
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
import { podsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { ConformanceCase, Target } from '../target.ts';

const rbac = 'rbac.authorization.k8s.io';
const mayWriteRoles = {
  apiGroups: [rbac],
  resources: ['roles', 'rolebindings'],
  verbs: ['create', 'get', 'patch', 'update'],
};
const readsPods = { apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] };

/** Status, and the message behind who is told. */
async function attempt(
  target: Target,
  method: string,
  path: string,
  body: JsonObject,
): Promise<readonly [status: number, why: string]> {
  const answer = await call(target, method, path, { as: target.users.guest, body });
  const [, ...why] = textAt(answer.body, 'message').split(' is forbidden: ');
  return [answer.status, why.join(' is forbidden: ')];
}

function notHeld({ users: { guest } }: Target, ...rules: readonly string[]): readonly [number, string] {
  const groups = '["conformance" "system:authenticated"]';
  const grants = 'is attempting to grant RBAC permissions not currently held';
  return [403, `user "${guest.username}" (groups=${groups}) ${grants}:\n${rules.join('\n')}`];
}

export const escalationCases: readonly ConformanceCase[] = [
  {
    name: 'nobody puts more into a role than they may do themselves; what is too much is told, rule by rule',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = rolesIn(namespace);
        await grant(target, namespace, [mayWriteRoles, readsPods]);
        await untilAllowed(target, podsIn(namespace));
        assert.deepEqual(await attempt(target, 'POST', path, role('reads', [readsPods])), [201, '']);
        const more = [
          { apiGroups: [''], resources: ['pods', 'pods/log'], verbs: ['get', 'delete'] },
          { apiGroups: [''], resources: ['secrets'], verbs: ['get'], resourceNames: ['one'] },
        ];
        assert.deepEqual(
          await attempt(target, 'POST', path, role('more', more)),
          notHeld(
            target,
            '{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}',
            '{APIGroups:[""], Resources:["pods/log"], Verbs:["get" "delete"]}',
            '{APIGroups:[""], Resources:["secrets"], ResourceNames:["one"], Verbs:["get"]}',
          ),
        );
        const stored = objectAt((await call(target, 'GET', `${path}/reads`)).body);
        const [status] = await attempt(target, 'PUT', `${path}/reads`, { ...stored, rules: more });
        assert.equal(status, 403);
        const patch = { rules: [...more, readsPods] };
        const patched = await call(target, 'PATCH', `${path}/reads`, {
          as: target.users.guest,
          type: 'application/merge-patch+json',
          body: patch,
        });
        assert.equal(patched.status, 403);
        const live = await call(target, 'GET', `${path}/reads`);
        assert.deepEqual(at(live.body, 'rules'), [readsPods]);
      }),
  },
  {
    name: 'nobody binds a role that holds more than they may do themselves, but who may bind it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = roleBindingsIn(namespace);
        const to = [subjects.user(target.users.guest)];
        await grant(target, namespace, [
          mayWriteRoles,
          readsPods,
          { apiGroups: [rbac], resources: ['clusterroles'], verbs: ['bind'], resourceNames: ['view'] },
        ]);
        await create(
          target,
          rolesIn(namespace),
          role('secretive', [{ ...readsPods, resources: ['secrets'] }]),
        );
        await untilAllowed(target, podsIn(namespace));
        const bind = async (kind: 'Role' | 'ClusterRole', name: string) =>
          attempt(target, 'POST', path, binding('RoleBinding', `to-${name}`, { kind, name }, to));
        assert.deepEqual(
          await bind('Role', 'secretive'),
          notHeld(target, '{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}'),
        );
        assert.deepEqual(await bind('ClusterRole', 'view'), [201, '']);
        assert.equal((await bind('ClusterRole', 'system:aggregate-to-edit'))[0], 403);
        assert.equal((await bind('ClusterRole', 'none'))[0], 404);
      }),
  },
  {
    name: 'who may escalate roles puts anything into them',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const escalates = { apiGroups: [rbac], resources: ['roles'], verbs: ['create', 'escalate'] };
        await grant(target, namespace, [escalates, readsPods]);
        await untilAllowed(target, podsIn(namespace));
        const everything = [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }];
        const made = await attempt(target, 'POST', rolesIn(namespace), role('everything', everything));
        assert.deepEqual(made, [201, '']);
      }),
  },
  {
    name: 'finalizers of a role are taken away by whoever may write it, and nothing else of it by who has less than it holds',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        await grant(target, namespace, [mayWriteRoles, readsPods]);
        const held = {
          ...role('held', [{ ...readsPods, resources: ['secrets'] }]),
          metadata: { name: 'held', finalizers: ['example.com/hold'] },
        };
        await create(target, rolesIn(namespace), held);
        await untilAllowed(target, podsIn(namespace));
        const patch = async (metadata: JsonObject) =>
          call(target, 'PATCH', `${rolesIn(namespace)}/held`, {
            as: target.users.guest,
            type: 'application/merge-patch+json',
            body: { metadata },
          });
        assert.equal((await patch({ labels: { mine: 'yes' } })).status, 403);
        assert.equal((await patch({ finalizers: null })).status, 200);
      }),
  },
  {
    name: 'to collect rules from wherever they come takes everything',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const mayWrite = [{ apiGroups: [rbac], resources: ['clusterroles'], verbs: ['create', 'get'] }];
        await withClusterGrant(target, namespace, mayWrite, async () => {
          await untilAllowed(target, `${clusterRolesPath}/view`);
          const collecting = {
            ...clusterRole(`conformance:collects-${namespace}`, []),
            aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
          };
          assert.deepEqual(await attempt(target, 'POST', clusterRolesPath, collecting), [
            403,
            'must have cluster-admin privileges to use the aggregationRule',
          ]);
        });
      }),
  },
];
