import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findPeers } from '../gateway/peers.ts';

const withoutKubectl = { PATH: '', ROUNDHOUSE_KUBECTL: '/nowhere/kubectl' };

test('in CI a peer that is missing is a failure', async () => {
  await assert.rejects(
    findPeers({ ...withoutKubectl, CI: 'true' }, () => undefined),
    /In CI every peer takes part/,
  );
});

test('elsewhere a peer that is missing is left out by name and reason', async () => {
  const { kubectl, leftOut } = await findPeers(withoutKubectl, () => undefined);
  assert.equal(kubectl, undefined);
  assert.match(
    leftOut.find(({ contestant }) => contestant === 'kubectl proxy')?.reason ?? '',
    /cannot be executed/,
  );
});
