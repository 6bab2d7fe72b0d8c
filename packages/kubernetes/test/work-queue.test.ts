/** Work by key: what is worked on when, how often, and what a failure costs. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock, fuzzRuns, turns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { WorkQueue } from '../src/index.ts';
import type { WorkOutcome, WorkQueueOptions } from '../src/index.ts';

/** Work that a test ends, one after the other, by key. */
class Work {
  readonly begun: string[] = [];
  readonly signals: AbortSignal[] = [];
  readonly failures: string[] = [];
  readonly clock = new ManualClock();
  readonly queue: WorkQueue;
  readonly #ends = new Map<string, PromiseWithResolvers<WorkOutcome | void>>();

  constructor(options: Partial<WorkQueueOptions> = {}) {
    this.queue = new WorkQueue({
      clock: this.clock,
      random: () => 1,
      onFailure: (key, error) => this.failures.push(`${key}: ${String(error)}`),
      work: (key, signal) => {
        assert.ok(!this.#ends.has(key), `${key} is worked on twice at the same time`);
        this.begun.push(key);
        this.signals.push(signal);
        const end = Promise.withResolvers<WorkOutcome | void>();
        this.#ends.set(key, end);
        return end.promise;
      },
      ...options,
    });
  }

  get underWay(): readonly string[] {
    return [...this.#ends.keys()];
  }

  async end(key: string, outcome?: WorkOutcome | Error): Promise<void> {
    const end = this.#ends.get(key);
    assert.ok(end !== undefined, `${key} is not worked on`);
    this.#ends.delete(key);
    if (outcome instanceof Error) end.reject(outcome);
    else end.resolve(outcome);
    await turns(1);
  }
}

const nothing = { waiting: 0, working: 0, delayed: 0, failing: 0 };

test('a key is worked on once however often it is added before, and in the order of its first time', async () => {
  const work = new Work({ concurrency: 1 });
  for (const key of ['a', 'b', 'c', 'b', 'b']) work.queue.add(key);
  assert.deepEqual(work.queue.inspect(), { ...nothing, waiting: 2, working: 1 });
  for (const key of ['a', 'b', 'c']) await work.end(key);
  assert.deepEqual(work.begun, ['a', 'b', 'c']);
  assert.deepEqual(work.queue.inspect(), nothing);
});

test('what is added while it is worked on is worked on once more, and not at the same time', async () => {
  const work = new Work();
  work.queue.add('a');
  work.queue.add('a');
  work.queue.add('a');
  assert.deepEqual(work.begun, ['a']);
  await work.end('a');
  assert.deepEqual(work.begun, ['a', 'a']);
  await work.end('a');
  assert.deepEqual(work.queue.inspect(), nothing);
});

test('no more keys than the limit at the same time, and a slow one holds up none but its own', async () => {
  const work = new Work({ concurrency: 2 });
  for (const key of ['slow', 'a', 'b', 'c']) work.queue.add(key);
  for (const key of ['a', 'b', 'c']) {
    assert.deepEqual(work.underWay, ['slow', key]);
    await work.end(key);
  }
  await work.end('slow');
});

test('a failure is followed by an attempt after 1 s, 2 s, 4 s, ... 5 minutes, and success ends that', async () => {
  const work = new Work();
  work.queue.add('a');
  for (const ms of [1_000, 2_000, 4_000, 8_000]) {
    await work.end('a', new Error('no'));
    assert.deepEqual(work.queue.inspect(), { ...nothing, delayed: 1, failing: 1 });
    work.clock.advance(ms - 1);
    assert.deepEqual(work.underWay, []);
    work.clock.advance(1);
    assert.deepEqual(work.underWay, ['a']);
  }
  for (let round = 0; round < 10; round += 1) {
    await work.end('a', new Error('no'));
    work.clock.advance(300_000);
  }
  await work.end('a');
  assert.deepEqual(work.queue.inspect(), nothing);
  assert.equal(work.failures.length, 14);
  assert.equal(work.failures[0], 'a: Error: no');
  work.queue.add('a');
  await work.end('a', new Error('no'));
  work.clock.advance(1_000);
  assert.deepEqual(work.underWay, ['a']);
});

test('the failures of one key put off no other, and a key that is added is not put off any more', async () => {
  const work = new Work();
  work.queue.add('bad');
  await work.end('bad', new Error('no'));
  work.queue.add('good');
  assert.deepEqual(work.underWay, ['good']);
  work.queue.add('bad');
  assert.deepEqual(work.underWay, ['good', 'bad']);
  assert.equal(work.clock.pending, 0);
});

test('work that asks for another time gets it, once, and is forgotten with its key', async () => {
  const work = new Work();
  work.queue.add('a');
  await work.end('a', { afterMs: 60_000 });
  work.clock.advance(60_000);
  assert.deepEqual(work.underWay, ['a']);
  await work.end('a', { afterMs: 60_000 });
  work.queue.forget('a');
  assert.equal(work.clock.pending, 0);
  assert.deepEqual(work.queue.inspect(), nothing);
});

test('closing it tells what is under way, waits for that, and begins nothing more', async () => {
  const work = new Work({ concurrency: 1 });
  for (const key of ['a', 'b']) work.queue.add(key);
  let closed = 0;
  const closing = [work.queue.close(), work.queue.close()].map((promise) =>
    promise.then(() => (closed += 1)),
  );
  await turns();
  assert.equal(closed, 0);
  assert.equal(work.signals[0]?.aborted, true);
  await work.end('a', new Error('broken off'));
  await Promise.all(closing);
  work.queue.add('c');
  assert.deepEqual([work.begun, work.failures, work.clock.pending], [['a'], [], 0]);
  await work.queue.close();
});

test('whatever is added, done, failed or forgotten in whatever order, each key that was added last is worked on after that', async () => {
  const key = fc.constantFrom('a', 'b', 'c', 'd');
  const step = fc.record({ key, kind: fc.constantFrom('add', 'end', 'fail', 'time') });
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.integer({ min: 1, max: 3 }),
      async (steps, concurrency) => {
        const work = new Work({ concurrency });
        /** Number of attempts begun when it was last added. */
        const wanted = new Map<string, number>();
        const begunOf = (name: string): number => work.begun.filter((other) => other === name).length;
        for (const { key: name, kind } of steps) {
          if (kind === 'add') {
            wanted.set(name, begunOf(name));
            work.queue.add(name);
          } else if (kind === 'time') {
            work.clock.advance(1_000);
          } else if (work.underWay.includes(name)) {
            await work.end(name, kind === 'fail' ? new Error('no') : undefined);
          }
          assert.ok(work.underWay.length <= concurrency);
        }
        for (let name = work.underWay[0]; name !== undefined; name = work.underWay[0]) await work.end(name);
        work.clock.advance(300_000);
        for (let name = work.underWay[0]; name !== undefined; name = work.underWay[0]) await work.end(name);
        for (const [name, before] of wanted) assert.ok(begunOf(name) > before, name);
        assert.deepEqual(work.queue.inspect(), nothing);
      },
    ),
    fuzzRuns(100),
  );
});
