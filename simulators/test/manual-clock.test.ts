import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '@roundhouse/simulators';

test('time stands still until it is moved', () => {
  const clock = new ManualClock(1000);
  let runs = 0;
  clock.setTimeout(() => (runs += 1), 10);
  assert.equal(clock.now(), 1000);
  clock.advance(9);
  assert.deepEqual([clock.now(), runs, clock.pending], [1009, 0, 1]);
  clock.advance(1);
  assert.deepEqual([clock.now(), runs, clock.pending], [1010, 1, 0]);
});

test('timers run in the order in which they are due, each at its own time, equal ones as they were set', () => {
  const clock = new ManualClock(0);
  const seen: [string, number][] = [];
  const note = (name: string) => () => void seen.push([name, clock.now()]);
  clock.setTimeout(note('late'), 30);
  clock.setTimeout(note('early'), 10);
  clock.setTimeout(note('first of two'), 20);
  clock.setTimeout(note('second of two'), 20);
  clock.advance(100);
  assert.deepEqual(seen, [
    ['early', 10],
    ['first of two', 20],
    ['second of two', 20],
    ['late', 30],
  ]);
  assert.equal(clock.now(), 100);
});

test('what a timer sets runs in the same move if it is due, and not if it is not', () => {
  const clock = new ManualClock(0);
  const seen: number[] = [];
  const again = () => {
    seen.push(clock.now());
    clock.setTimeout(again, 40);
  };
  clock.setTimeout(again, 40);
  clock.advance(100);
  assert.deepEqual([seen, clock.pending], [[40, 80], 1]);
});

test('a cancelled timer does not run, also when another timer cancels it on the way, and cancelling twice is nothing', () => {
  const clock = new ManualClock(0);
  let runs = 0;
  const cancelled = clock.setTimeout(() => (runs += 1), 10);
  const victim = clock.setTimeout(() => (runs += 1), 20);
  clock.setTimeout(() => victim.cancel(), 15);
  cancelled.cancel();
  cancelled.cancel();
  clock.advance(100);
  assert.deepEqual([runs, clock.pending], [0, 0]);
});
