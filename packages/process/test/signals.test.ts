import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { test } from 'node:test';
import { StopSignals, StoppedBySignal } from '../src/index.ts';

class FakeProcess extends EventEmitter {
  readonly exits: number[] = [];
  exit(code: number): void {
    this.exits.push(code);
  }
}

test('the first signal aborts, the second one ends the process at once with 130 or 143', () => {
  for (const [name, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    const fake = new FakeProcess();
    const seen: string[] = [];
    using signals = StopSignals.open({
      process: fake as never,
      onStop: (signal) => seen.push(`stop ${signal}`),
      onForce: (signal) => seen.push(`force ${signal}`),
    });
    fake.emit('SIGTERM', 'SIGTERM');
    assert.equal(signals.signal.aborted, true);
    assert.ok(signals.signal.reason instanceof StoppedBySignal);
    assert.deepEqual(fake.exits, []);
    fake.emit(name, name);
    assert.deepEqual(fake.exits, [code]);
    assert.deepEqual(seen, ['stop SIGTERM', `force ${name}`]);
  }
});

test('one press of ctrl-C that arrives twice, as under npm, is one; the next press forces', () => {
  const fake = new FakeProcess();
  let now = 1_000;
  using _signals = StopSignals.open({ process: fake as never, now: () => now });
  fake.emit('SIGINT', 'SIGINT');
  now += 20;
  fake.emit('SIGINT', 'SIGINT');
  assert.deepEqual(fake.exits, []);
  now += 1_000;
  fake.emit('SIGINT', 'SIGINT');
  assert.deepEqual(fake.exits, [130]);
});

test('disposal takes the listeners off the process', () => {
  const before = process.listenerCount('SIGTERM') + process.listenerCount('SIGINT');
  {
    using _signals = StopSignals.open();
    assert.equal(process.listenerCount('SIGTERM') + process.listenerCount('SIGINT'), before + 2);
  }
  assert.equal(process.listenerCount('SIGTERM') + process.listenerCount('SIGINT'), before);
});
