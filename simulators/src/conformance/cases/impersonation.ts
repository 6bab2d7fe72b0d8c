import assert from 'node:assert/strict';
import { at, textAt } from '../../kube-apiserver/json.ts';
import { grant, untilAllowed, withClusterGrant } from '../granting.ts';
import { podsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { ConformanceCase, Target } from '../target.ts';
import { until } from '../until.ts';

type Headers = Readonly<Record<string, string>>;

const whoAmI = {
  body: { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' },
  path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
};

async function refusal(target: Target, headers: Headers): Promise<string> {
  const { guest } = target.users;
  const { status, body } = await call(target, 'POST', whoAmI.path, { as: guest, headers, body: whoAmI.body });
  return status === 403 ? textAt(body, 'message') : `status ${status}`;
}

/**
 * Since 1.36 a server asks for narrower rights first (constrained impersonation), and a caller who has never acted as anybody is told of
 * those.
 */
const newerRefusal = /cannot impersonate-on:user-info:create resource "selfsubjectreviews"/;

function cannot(target: Target, what: string, full: string, group: string, where: string): string {
  const { username } = target.users.guest;
  return `${what} is forbidden: User "${username}" cannot impersonate resource "${full}" in API group "${group}" ${where}`;
}

export const impersonationCases: readonly ConformanceCase[] = [
  {
    name: 'whoever acts as another has the rights of that one and not their own',
    needs: 'impersonation',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const { guest } = target.users;
        const headers = { 'impersonate-user': guest.username };
        const statusOf = async (path: string) => (await call(target, 'GET', path, { headers })).status;
        assert.equal(await statusOf(podsIn(namespace)), 403);
        await grant(target, namespace, [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }]);
        await untilAllowed(target, podsIn(namespace));
        assert.equal(await statusOf(podsIn(namespace)), 200);
        assert.equal(await statusOf('/api/v1/nodes'), 403);
        const { body } = await call(target, 'POST', whoAmI.path, { headers, body: whoAmI.body });
        assert.equal(at(body, 'status', 'userInfo', 'username'), guest.username);
      }),
  },
  {
    name: 'to act as another is a right of its own for the user, each group, the uid and each value of an extra',
    needs: 'impersonation',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const user = { 'impersonate-user': `bob-${namespace}` };
        const refused = await refusal(target, user);
        if (!newerRefusal.test(refused))
          assert.equal(
            refused,
            cannot(target, `users "bob-${namespace}"`, 'users', '', 'at the cluster scope'),
          );
        const rules = [
          {
            apiGroups: [''],
            resources: ['users'],
            verbs: ['impersonate'],
            resourceNames: [`bob-${namespace}`],
          },
          { apiGroups: [''], resources: ['groups'], verbs: ['impersonate'], resourceNames: ['crew'] },
          {
            apiGroups: ['authentication.k8s.io'],
            resources: ['userextras/scopes'],
            verbs: ['impersonate'],
            resourceNames: ['view'],
          },
        ];
        await withClusterGrant(target, namespace, rules, async () => {
          await until(async () => (await refusal(target, user)) === 'status 201');
          assert.equal(
            await refusal(target, { 'impersonate-user': 'root' }),
            cannot(target, 'users "root"', 'users', '', 'at the cluster scope'),
          );
          assert.equal(await refusal(target, { ...user, 'impersonate-group': 'crew' }), 'status 201');
          assert.equal(
            await refusal(target, { ...user, 'impersonate-group': 'system:masters' }),
            cannot(target, 'groups "system:masters"', 'groups', '', 'at the cluster scope'),
          );
          assert.equal(await refusal(target, { ...user, 'impersonate-extra-scopes': 'view' }), 'status 201');
          const group = 'authentication.k8s.io';
          assert.equal(
            await refusal(target, { ...user, 'impersonate-extra-scopes': 'edit' }),
            cannot(target, `userextras.${group} "edit"`, 'userextras/scopes', group, 'at the cluster scope'),
          );
          assert.equal(
            await refusal(target, { ...user, 'impersonate-uid': '7' }),
            cannot(target, `uids.${group} "7"`, 'uids', group, 'at the cluster scope'),
          );
        });
      }),
  },
  {
    name: 'to act as a service account is a right in its namespace',
    needs: 'impersonation',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const rules = [{ apiGroups: [''], resources: ['serviceaccounts'], verbs: ['impersonate'] }];
        const account = (of: string) => ({ 'impersonate-user': `system:serviceaccount:${of}:robot` });
        await grant(target, namespace, rules);
        await until(async () => (await refusal(target, account(namespace))) === 'status 201');
        assert.equal(
          await refusal(target, account('default')),
          cannot(target, 'serviceaccounts "robot"', 'serviceaccounts', '', 'in the namespace "default"'),
        );
      }),
  },
];
