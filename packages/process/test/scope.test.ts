import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessError, Scope } from '../src/index.ts';

test('what was opened last is closed first, one after the other', async () => {
  const order: string[] = [];
  const scope = new Scope();
  for (const name of ['pool', 'listener', 'follower']) {
    scope.defer(name, async () => {
      order.push(`${name} closing`);
      await Promise.resolve();
      order.push(`${name} closed`);
    });
  }
  await scope.close();
  assert.deepEqual(order, [
    'follower closing',
    'follower closed',
    'listener closing',
    'listener closed',
    'pool closing',
    'pool closed',
  ]);
});

test('what hangs is named, and the others are still closed', async () => {
  let closed = false;
  const scope = new Scope();
  scope.defer('first', () => {
    closed = true;
  });
  scope.defer('stuck', () => new Promise(() => {}));
  const { hung } = await scope.close({ timeoutMs: 20 });
  assert.deepEqual(hung, ['stuck']);
  assert.equal(closed, true);
});

test('the first error is kept and the later ones are attached to it', async () => {
  const scope = new Scope();
  const first = new Error('first');
  const second = new Error('second');
  scope.defer('b', () => Promise.reject(second));
  scope.defer('a', () => Promise.reject(first));
  await assert.rejects(scope.close(), (error) => {
    assert.ok(error instanceof SuppressedError);
    assert.equal(error.error, first);
    assert.equal(error.suppressed, second);
    return true;
  });
});

test('a scope that is closing takes nothing more, and closing twice closes once', async () => {
  let count = 0;
  const scope = new Scope();
  scope.defer('one', () => {
    count += 1;
  });
  assert.equal(await scope.close(), await scope.close());
  assert.equal(count, 1);
  assert.throws(() => scope.defer('late', () => {}), /cannot own late/);
});

test('disposal of a scope with something that hangs says so', async () => {
  const scope = new Scope();
  scope.defer('stuck', () => new Promise(() => {}));
  void scope.close({ timeoutMs: 5 });
  await assert.rejects(
    scope[Symbol.asyncDispose](),
    (error) => error instanceof ProcessError && error.code === 'ERR_RH_SCOPE_CLOSE_TIMEOUT',
  );
});

test('disposables of both kinds are owned', async () => {
  const closed: string[] = [];
  const scope = new Scope();
  scope.use('sync', { [Symbol.dispose]: () => void closed.push('sync') });
  scope.use('async', { [Symbol.asyncDispose]: async () => void closed.push('async') });
  await scope.close();
  assert.deepEqual(closed, ['async', 'sync']);
});
