import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LastKubeconfig } from '../src/clusters/last-kubeconfig.ts';

const text = (name: string): Buffer =>
  Buffer.from(`contexts: [{name: ${name}, context: {cluster: here}}]\nclusters: []\n`);

test('a kubeconfig of the same bytes is parsed once, of others anew, and one that cannot be parsed is not kept', () => {
  const last = new LastKubeconfig();
  const first = last.parse(text('alpha'), 'file');
  assert.equal(last.parse(text('alpha'), 'file'), first);
  assert.deepEqual([...last.parse(text('gamma'), 'file').contexts.keys()], ['gamma']);
  assert.throws(() => last.parse('[', 'file'), /ERR_RH_KUBECONFIG_INVALID/);
  assert.deepEqual([...last.parse(text('alpha'), 'file').contexts.keys()], ['alpha']);
});
