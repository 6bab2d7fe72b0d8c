import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFieldSelector } from '../src/kube-apiserver/selectors/field-selector.ts';
import { labelSelectorOf, parseLabelSelector } from '../src/kube-apiserver/selectors/label-selector.ts';

const labels = { app: 'web', tier: 'front', size: '12', empty: '' };

test('a label selector means what the grammar of Kubernetes says', () => {
  const cases: readonly (readonly [selector: string, matches: boolean])[] = [
    ['', true],
    ['app', true],
    ['!app', false],
    ['! none', true],
    ['app=web', true],
    ['app==web', true],
    ['app = web , tier = front', true],
    ['app=web,tier=back', false],
    ['app!=web', false],
    ['none!=web', true],
    ['app in (db, web)', true],
    ['app in (db)', false],
    ['app notin (db)', true],
    ['none notin (db)', true],
    ['size>11', true],
    ['size>12', false],
    ['size<13', true],
    ['app>1', false],
    ['empty=', true],
    ['app=', false],
    ['empty in (,x)', true],
    ['example.com/role=a', false],
  ];
  for (const [selector, matches] of cases)
    assert.equal(parseLabelSelector(selector)(labels), matches, selector);
});

test('a label selector that cannot be read is a bad request that shows it', () => {
  for (const selector of ['=', 'a=b=c', 'a in', 'a in (b', 'a b', ',', 'a,,b', 'a>b', 'a in b)', '!']) {
    assert.throws(
      () => parseLabelSelector(selector),
      { code: 400, message: /^unable to parse requirement: / },
      selector,
    );
  }
});

test('the selector of a spec needs all its labels and expressions; an absent one selects nothing', () => {
  const matchExpressions = [
    { key: 'tier', operator: 'In', values: ['front', 'back'] },
    { key: 'none', operator: 'DoesNotExist' },
  ];
  assert.equal(labelSelectorOf({ matchLabels: { app: 'web' }, matchExpressions })(labels), true);
  assert.equal(labelSelectorOf({ matchLabels: { app: 'db' }, matchExpressions })(labels), false);
  assert.equal(labelSelectorOf({})(labels), true);
  assert.equal(labelSelectorOf(undefined)(labels), false);
});

test('a field selector compares the fields that are offered, escapes included', () => {
  const object = { apiVersion: 'v1', kind: 'Event', metadata: { name: 'e', namespace: 'n' }, reason: 'a,b' };
  const offered = { reason: () => 'a,b' };
  const cases: readonly (readonly [selector: string, matches: boolean])[] = [
    ['metadata.name=e', true],
    ['metadata.name==e,metadata.namespace=n', true],
    ['metadata.name!=e', false],
    ['reason=a\\,b', true],
    ['', true],
  ];
  for (const [selector, matches] of cases)
    assert.equal(parseFieldSelector(selector, offered)(object), matches, selector);
  assert.throws(() => parseFieldSelector('spec.x=1'), {
    code: 400,
    message: 'field label not supported: spec.x',
  });
  assert.throws(() => parseFieldSelector('toString=1'), { code: 400 });
  assert.throws(() => parseFieldSelector('nonsense'), { code: 400 });
});
