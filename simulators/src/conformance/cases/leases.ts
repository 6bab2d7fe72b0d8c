import assert from 'node:assert/strict';
import { at, listAt, numberAt, objectAt, textAt } from '../../kube-apiserver/json.ts';
import type { Json } from '../../kube-apiserver/json.ts';
import { call, inNamespace } from '../target.ts';
import type { Answer, ConformanceCase, Target } from '../target.ts';

const mergePatch = 'application/merge-patch+json';

function leasesIn(namespace: string): string {
  return `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;
}

function leaseOf(holderIdentity: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name: 'leader' },
    spec: { holderIdentity, leaseDurationSeconds: 15, ...more },
  };
}

function heldBy(lease: Json, holderIdentity: string) {
  return { ...objectAt(lease), spec: { ...objectAt(lease, 'spec'), holderIdentity } };
}

function statuses(answers: readonly Answer[]): readonly number[] {
  return answers.map(({ status }) => status).toSorted((left, right) => left - right);
}

/** A step of the election of client-go: take the lease when it is free or run out, else leave it; undefined when another was faster. */
async function tryAcquire(
  target: Target,
  path: string,
  me: string,
  now: number,
): Promise<string | undefined> {
  const present = await call(target, 'GET', `${path}/leader`);
  const renewTime = new Date(now).toISOString().replace('Z', '000Z');
  if (present.status === 404) {
    const created = await call(target, 'POST', path, {
      body: leaseOf(me, { renewTime, leaseTransitions: 0 }),
    });
    return created.status === 201 ? me : undefined;
  }
  const spec = objectAt(present.body, 'spec');
  const holder = textAt(spec, 'holderIdentity');
  const until = Date.parse(textAt(spec, 'renewTime')) + 1000 * (numberAt(spec, 'leaseDurationSeconds') ?? 0);
  if (holder !== me && now < until) return holder;
  const leaseTransitions = (numberAt(spec, 'leaseTransitions') ?? 0) + (holder === me ? 0 : 1);
  const next = {
    ...heldBy(present.body, me),
    spec: { ...spec, holderIdentity: me, renewTime, leaseTransitions },
  };
  const updated = await call(target, 'PUT', `${path}/leader`, { body: next });
  return updated.status === 200 ? me : undefined;
}

export const leaseCases: readonly ConformanceCase[] = [
  {
    name: 'of several that create the same lease one wins, and the others are told that it exists',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const answers = await Promise.all(
          ['a', 'b', 'c', 'd'].map(async (holder) =>
            call(target, 'POST', leasesIn(namespace), { body: leaseOf(holder) }),
          ),
        );
        assert.deepEqual(statuses(answers), [201, 409, 409, 409]);
        for (const { status, body } of answers)
          if (status === 409)
            assert.deepEqual(
              [at(body, 'reason'), at(body, 'message')],
              ['AlreadyExists', 'leases.coordination.k8s.io "leader" already exists'],
            );
      }),
  },
  {
    name: 'of several that update the same version of a lease one wins, the others conflict, and the winner holds it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${leasesIn(namespace)}/leader`;
        const { body } = await call(target, 'POST', leasesIn(namespace), { body: leaseOf('before') });
        const answers = await Promise.all(
          ['a', 'b', 'c', 'd'].map(async (holder) =>
            call(target, 'PUT', path, { body: heldBy(body, holder) }),
          ),
        );
        assert.deepEqual(statuses(answers), [200, 409, 409, 409]);
        const winner = answers.find(({ status }) => status === 200);
        const lost = answers.find(({ status }) => status === 409);
        assert.deepEqual(
          [at(lost?.body, 'reason'), at(lost?.body, 'details')],
          ['Conflict', { name: 'leader', group: 'coordination.k8s.io', kind: 'leases' }],
        );
        const live = await call(target, 'GET', path);
        assert.deepEqual(at(live.body, 'spec'), at(winner?.body, 'spec'));
      }),
  },
  {
    name: 'an update of a lease has to name its version, a patch may, and one that names an old version conflicts',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = `${leasesIn(namespace)}/leader`;
        const { body: first } = await call(target, 'POST', leasesIn(namespace), { body: leaseOf('a') });
        const blind = await call(target, 'PUT', path, { body: leaseOf('b') });
        assert.deepEqual(
          [blind.status, listAt(blind.body, 'details', 'causes').map((cause) => at(cause, 'field'))],
          [422, ['metadata.resourceVersion']],
        );
        assert.match(
          textAt(blind.body, 'message'),
          /metadata\.resourceVersion: .*must be specified for an update/,
        );
        const patch = async (body: unknown) => call(target, 'PATCH', path, { type: mergePatch, body });
        assert.equal((await patch({ spec: { holderIdentity: 'c' } })).status, 200);
        const resourceVersion = textAt(first, 'metadata', 'resourceVersion');
        const stale = await patch({ metadata: { resourceVersion }, spec: { holderIdentity: 'd' } });
        assert.deepEqual([stale.status, at(stale.body, 'reason')], [409, 'Conflict']);
        assert.equal(at((await call(target, 'GET', path)).body, 'spec', 'holderIdentity'), 'c');
      }),
  },
  {
    name: 'an update of a lease that is not there creates it',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const created = await call(target, 'PUT', `${leasesIn(namespace)}/leader`, { body: leaseOf('a') });
        assert.deepEqual([created.status, at(created.body, 'spec', 'holderIdentity')], [201, 'a']);
      }),
  },
  {
    name: 'a lease lasts some time and counts from nothing; the time of its renewal is kept to the microsecond',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = leasesIn(namespace);
        const refused = await call(target, 'POST', path, {
          body: leaseOf('a', { leaseDurationSeconds: 0, leaseTransitions: -1 }),
        });
        assert.deepEqual(
          [refused.status, listAt(refused.body, 'details', 'causes').map((cause) => at(cause, 'field'))],
          [422, ['spec.leaseDurationSeconds', 'spec.leaseTransitions']],
        );
        const renewTime = '2026-01-01T00:00:00.123456Z';
        const created = await call(target, 'POST', path, { body: leaseOf('a', { renewTime }) });
        assert.equal(at(created.body, 'spec', 'renewTime'), renewTime);
      }),
  },
  {
    name: 'a leader is elected by a lease: one at a time holds it, another takes it over when it has run out, and who was slow is told',
    run: async (target) =>
      inNamespace(target, async (namespace) => {
        const path = leasesIn(namespace);
        const start = Date.parse('2026-01-01T00:00:00Z');
        const first = await Promise.all(
          ['a', 'b', 'c'].map(async (me) => tryAcquire(target, path, me, start)),
        );
        const leaders = new Set(first.filter((leader) => leader !== undefined));
        assert.equal(leaders.size, 1);
        const [leader = ''] = leaders;
        const other = ['a', 'b', 'c'].find((name) => name !== leader) ?? '';
        const lapsed = await call(target, 'GET', `${path}/leader`);
        assert.equal(await tryAcquire(target, path, leader, start + 10_000), leader);
        assert.equal(await tryAcquire(target, path, other, start + 20_000), leader);
        assert.equal(await tryAcquire(target, path, other, start + 26_000), other);
        const late = await call(target, 'PUT', `${path}/leader`, { body: heldBy(lapsed.body, leader) });
        assert.equal(late.status, 409);
        const live = await call(target, 'GET', `${path}/leader`);
        assert.deepEqual(
          [at(live.body, 'spec', 'holderIdentity'), at(live.body, 'spec', 'leaseTransitions')],
          [other, 1],
        );
      }),
  },
];
