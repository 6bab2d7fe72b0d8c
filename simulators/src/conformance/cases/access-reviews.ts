import assert from 'node:assert/strict';
import { at, listAt, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json, JsonObject } from '../../kube-apiserver/json.ts';
import { binding, create, grant, roleBindingsIn, subjects, untilAllowed } from '../granting.ts';
import { podsIn } from '../objects.ts';
import { call, inNamespace } from '../target.ts';
import type { Answer, ConformanceCase, Target, User } from '../target.ts';

const group = 'authorization.k8s.io';
const root = `/apis/${group}/v1`;

interface Asked {
  readonly as?: User;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(target: Target, kind: string, spec: JsonObject, asked: Asked = {}): Promise<Answer> {
  const path = `${root}/${kind.toLowerCase()}s`;
  return call(target, 'POST', path, { ...asked, body: { apiVersion: `${group}/v1`, kind, spec } });
}

const pods = (namespace: string, verb: string, more: JsonObject = {}): JsonObject => ({
  resourceAttributes: { namespace, verb, resource: 'pods', ...more },
});

function statusOf({ status, body }: Answer): readonly [code: number, allowed: Json | undefined] {
  return [status, at(body, 'status', 'allowed')];
}

function causesOf({ status, body }: Answer): readonly unknown[] {
  assert.equal(status, 422, textAt(body, 'message'));
  return listAt(body, 'details', 'causes').map((cause) => [
    at(cause, 'field'),
    textAt(cause, 'message').split(': ').at(-1),
  ]);
}

export const accessReviewCases: readonly ConformanceCase[] = [
  {
    name: 'everybody may ask what they may, and the answer names the binding, the role and the subject that allow it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const as = target.users.guest;
        const may = async (spec: JsonObject) => ask(target, 'SelfSubjectAccessReview', spec, { as });
        assert.deepEqual(statusOf(await may(pods(namespace, 'list'))), [201, false]);
        await grant(target, namespace, [
          { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
          { apiGroups: [''], resources: ['pods'], verbs: ['get'], resourceNames: ['web'] },
        ]);
        await untilAllowed(target, podsIn(namespace));
        const allowed = await may(pods(namespace, 'list'));
        assert.deepEqual(objectAt(allowed.body, 'status'), {
          allowed: true,
          reason: `RBAC: allowed by RoleBinding "granted/${namespace}" of Role "granted" to User "${as.username}"`,
        });
        assert.equal(textAt(allowed.body, 'spec', 'resourceAttributes', 'namespace'), namespace);
        const answers = await Promise.all([
          may(pods(namespace, 'delete')),
          may(pods('default', 'list')),
          may(pods(namespace, 'list', { group: 'metrics.k8s.io' })),
          may(pods(namespace, 'get', { name: 'web' })),
          may(pods(namespace, 'get', { name: 'web', subresource: 'log' })),
          may(pods(namespace, 'get', { name: 'db' })),
          may({ nonResourceAttributes: { path: '/apis', verb: 'get' } }),
          may({ nonResourceAttributes: { path: '/metrics', verb: 'get' } }),
        ]);
        assert.deepEqual(
          answers.map(({ body }) => at(body, 'status', 'allowed')),
          [false, false, false, true, false, false, true, false],
        );
      }),
  },
  {
    name: 'members of system:masters may do everything, without a reason',
    run: async (target) => {
      const attributes = { verb: 'juggle', group: 'none.example', resource: 'balls' };
      const answer = await ask(target, 'SelfSubjectAccessReview', { resourceAttributes: attributes });
      assert.deepEqual(objectAt(answer.body, 'status'), { allowed: true });
    },
  },
  {
    name: 'whoever acts as another asks in the name of that one',
    needs: 'impersonation',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const headers = { 'impersonate-user': target.users.guest.username };
        const review = 'SelfSubjectAccessReview';
        assert.deepEqual(statusOf(await ask(target, review, pods(namespace, 'list'))), [201, true]);
        assert.deepEqual(statusOf(await ask(target, review, pods(namespace, 'list'), { headers })), [
          201,
          false,
        ]);
        const { body } = await ask(target, 'SelfSubjectRulesReview', { namespace }, { headers });
        const rules = listAt(body, 'status', 'resourceRules');
        assert.ok(rules.length > 0 && !rules.some((rule) => at(rule, 'verbs', 0) === '*'));
      }),
  },
  {
    name: 'a question says one thing, of a resource or of a path, and of somebody where it is of another',
    run: async (target) => {
      const self = async (spec: JsonObject) => causesOf(await ask(target, 'SelfSubjectAccessReview', spec));
      const path = { path: '/x', verb: 'get' };
      assert.deepEqual(await self({}), [
        [
          'spec.resourceAttributes',
          'exactly one of nonResourceAttributes or resourceAttributes must be specified',
        ],
      ]);
      assert.deepEqual(await self({ ...pods('default', 'get'), nonResourceAttributes: path }), [
        ['spec.nonResourceAttributes', 'cannot be specified in combination with resourceAttributes'],
      ]);
      const named = await call(target, 'POST', `${root}/selfsubjectaccessreviews`, {
        body: {
          apiVersion: `${group}/v1`,
          kind: 'SelfSubjectAccessReview',
          metadata: { name: 'mine' },
          spec: pods('default', 'get'),
        },
      });
      assert.deepEqual(causesOf(named), [['metadata', 'must be empty']]);
      const other = await ask(target, 'SubjectAccessReview', { nonResourceAttributes: path });
      assert.deepEqual(causesOf(other), [['spec.user', 'at least one of user or group must be specified']]);
    },
  },
  {
    name: 'what another may do is a question of its own right; that one has the groups that are named and no other',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const { guest } = target.users;
        const refused = await ask(
          target,
          'SubjectAccessReview',
          { user: 'x', ...pods(namespace, 'get') },
          { as: guest },
        );
        assert.equal(refused.status, 403);
        await grant(
          target,
          namespace,
          [{ apiGroups: [''], resources: ['pods'], verbs: ['list'] }],
          [subjects.user(guest), subjects.group('crew'), subjects.group('system:authenticated')],
        );
        await untilAllowed(target, podsIn(namespace));
        const may = async (who: JsonObject) =>
          statusOf(await ask(target, 'SubjectAccessReview', { ...who, ...pods(namespace, 'list') }));
        assert.deepEqual(await may({ user: guest.username }), [201, true]);
        assert.deepEqual(await may({ user: 'bob' }), [201, false]);
        assert.deepEqual(await may({ user: 'bob', groups: ['crew'] }), [201, true]);
        assert.deepEqual(await may({ groups: ['crew'], extra: { team: ['a'] }, uid: '7' }), [201, true]);
        assert.deepEqual(await may({ user: 'bob', groups: ['system:masters'] }), [201, true]);
      }),
  },
  {
    name: 'a local question is of its namespace only, and needs a right there only',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const as = target.users.guest;
        const path = `${root}/namespaces/${namespace}/localsubjectaccessreviews`;
        const local = async (spec: JsonObject) => {
          const body = { apiVersion: `${group}/v1`, kind: 'LocalSubjectAccessReview', spec };
          return call(target, 'POST', path, { as, body });
        };
        assert.equal((await local({ user: 'bob', ...pods(namespace, 'list') })).status, 403);
        await grant(target, namespace, [
          { apiGroups: [group], resources: ['localsubjectaccessreviews'], verbs: ['create'] },
          { apiGroups: [''], resources: ['pods'], verbs: ['list'] },
        ]);
        await untilAllowed(target, podsIn(namespace));
        assert.deepEqual(statusOf(await local({ user: as.username, ...pods(namespace, 'list') })), [
          201,
          true,
        ]);
        assert.deepEqual(statusOf(await local({ user: 'bob', ...pods(namespace, 'list') })), [201, false]);
        assert.notEqual((await local({ user: 'bob', ...pods('default', 'list') })).status, 201);
      }),
  },
  {
    name: 'the list of what one may do holds the rules of all roles that count in the namespace',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const as = target.users.guest;
        const rule = {
          verbs: ['get'],
          apiGroups: ['apps'],
          resources: ['deployments'],
          resourceNames: ['web'],
        };
        const dangling = binding('RoleBinding', 'dangling', { kind: 'Role', name: 'none' }, [
          subjects.user(as),
        ]);
        await create(target, roleBindingsIn(namespace), dangling);
        await grant(target, namespace, [rule, { verbs: ['list'], apiGroups: [''], resources: ['pods'] }]);
        await untilAllowed(target, podsIn(namespace));
        const { status, body } = await ask(target, 'SelfSubjectRulesReview', { namespace }, { as });
        assert.deepEqual([status, at(body, 'status', 'incomplete')], [201, false]);
        assert.deepEqual(
          listAt(body, 'status', 'resourceRules').filter(
            (each) => !listAt(each, 'resources').some((name) => String(name).startsWith('selfsubject')),
          ),
          [rule, { verbs: ['list'], apiGroups: [''], resources: ['pods'] }],
        );
        const urls = listAt(body, 'status', 'nonResourceRules').flatMap((each) =>
          listAt(each, 'nonResourceURLs'),
        );
        assert.ok(urls.includes('/apis/*') && urls.includes('/version'));
        assert.equal(
          at(body, 'status', 'evaluationError'),
          'role.rbac.authorization.k8s.io "none" not found',
        );
        const elsewhere = await ask(target, 'SelfSubjectRulesReview', { namespace: 'default' }, { as });
        assert.ok(
          !listAt(elsewhere.body, 'status', 'resourceRules').some(
            (each) => at(each, 'resources', 0) === 'pods',
          ),
        );
        const nowhere = await ask(target, 'SelfSubjectRulesReview', {}, { as });
        assert.deepEqual([nowhere.status, textAt(nowhere.body, 'message')], [400, 'no namespace on request']);
      }),
  },
  {
    name: 'a token is reviewed: whose it is, with all groups; or that it is of nobody; and not by everybody',
    run: async (target) => {
      const { guest } = target.users;
      const review = async (token: string, as?: User) =>
        call(target, 'POST', '/apis/authentication.k8s.io/v1/tokenreviews', {
          ...(as === undefined ? {} : { as }),
          body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token } },
        });
      const { status, body } = await review(guest.token);
      assert.deepEqual([status, at(body, 'status', 'authenticated')], [201, true]);
      assert.equal(at(body, 'status', 'user', 'username'), guest.username);
      const groups = listAt(body, 'status', 'user', 'groups');
      assert.ok(groups.includes('conformance') && groups.includes('system:authenticated'));
      const unknown = await review('nobody-has-it');
      assert.equal(unknown.status, 201);
      assert.equal(at(unknown.body, 'status', 'authenticated') ?? false, false);
      assert.match(textAt(unknown.body, 'status', 'error'), /invalid bearer token/);
      assert.equal((await review('')).status, 400);
      assert.equal((await review(guest.token, guest)).status, 403);
    },
  },
];
