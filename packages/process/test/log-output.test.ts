/** The log on standard output: in batches, bounded, and whole when the process exits. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { LogOutput } from '../src/log-output.ts';
import type { LogSink } from '../src/log-output.ts';

const index = resolve(import.meta.dirname, '../src/index.ts');

/** A program that has a log as `log`. */
function program(source: string): string[] {
  return [
    '--input-type=module',
    '-e',
    `import { createLogger } from ${JSON.stringify(index)}; const log = createLogger(); ${source}`,
  ];
}

for (const [how, end] of [
  ['by itself', ''],
  ['by process.exit', 'process.exit(0);'],
  [
    'by process.exit within the turn of the last line',
    'setImmediate(() => { log.info({ n: 1000 }); process.exit(0); });',
  ],
  ['by an error that nobody catches', 'setTimeout(() => { throw new Error("thrown"); }, 1);'],
] as const) {
  test(`no line is lost when the process ends ${how}`, async () => {
    const source = `for (let n = 0; n < 1000; n += 1) log.info({ n, filler: 'x'.repeat(300) }); ${end}`;
    const { stdout } = await promisify(execFile)(process.execPath, program(source), {
      maxBuffer: 8 * 1_048_576,
    }).catch((error: unknown) => error as { stdout: string });
    const numbers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { n: number }).n);
    const expected = Array.from({ length: end.includes('1000') ? 1001 : 1000 }, (_, n) => n);
    assert.deepEqual(
      numbers.toSorted((a, b) => a - b),
      expected,
    );
  });
}

for (const [how, end] of [
  ['by itself', ''],
  ['by process.exit', 'process.exit(0);'],
] as const) {
  test(`the last line is not lost when the process ends ${how} and its threads have other things to do`, async () => {
    const source = `const { pbkdf2 } = await import('node:crypto');
      process.prependListener('exit', () => pbkdf2('a', 'b', 1_000_000, 64, 'sha512', () => {}));
      log.info('last'); ${end}`;
    const { stdout } = await promisify(execFile)(process.execPath, program(source), {
      env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    });
    assert.match(stdout, /"msg":"last"/);
  });
}

test('a line is written soon although none follows, and does not wait for the end', async () => {
  const child = spawn(process.execPath, program('log.info("first"); setInterval(() => {}, 1000);'), {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  assert.match(String(chunk), /"msg":"first"/);
  child.kill('SIGKILL');
  await once(child, 'exit');
});

test('a reader that takes nothing holds up neither the process nor its end', async () => {
  const source = `for (let n = 0; n < 2000; n += 1) log.info({ filler: 'x'.repeat(300) });
    setTimeout(() => { console.error('turned'); process.exit(0); }, 100);`;
  const child = spawn(process.execPath, program(source), { stdio: ['ignore', 'pipe', 'pipe'] });
  const exited = once(child, 'exit');
  const [said] = (await once(child.stderr, 'data')) as [Buffer];
  assert.match(String(said), /turned/);
  await exited;
  child.stdout.destroy();
});

class Sink implements LogSink {
  taken = '';
  /** What it takes at once. */
  room = Number.POSITIVE_INFINITY;
  broken = false;

  write(bytes: Buffer): number {
    if (this.broken) {
      throw new Error('ENOSPC');
    }
    const part = bytes.subarray(0, Math.min(bytes.length, this.room));
    this.taken += part.toString();
    this.room -= part.length;
    return part.length;
  }
}

test('lines of one moment leave together, and a large batch does not wait', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sink = new Sink();
  const output = new LogOutput(sink);
  output.write('a\n');
  output.write('b\n');
  assert.equal(sink.taken, '');
  t.mock.timers.tick(20);
  assert.equal(sink.taken, 'a\nb\n');
  const large = `${'x'.repeat(20_000)}\n`;
  output.write(large);
  assert.equal(sink.taken, `a\nb\n${large}`);
  t.mock.timers.tick(1_000);
  assert.equal(sink.taken, `a\nb\n${large}`, 'once');
});

test('what a full pipe does not take is taken later, to the byte and in order', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sink = new Sink();
  const output = new LogOutput(sink);
  sink.room = 5;
  output.write('first\n');
  output.write('second\n');
  t.mock.timers.tick(20);
  assert.equal(sink.taken, 'first');
  output.write('third\n');
  t.mock.timers.tick(20);
  assert.equal(sink.taken, 'first');
  sink.room = 3;
  t.mock.timers.tick(20);
  sink.room = Number.POSITIVE_INFINITY;
  t.mock.timers.tick(20);
  assert.equal(sink.taken, 'first\nsecond\nthird\n');
});

test('lines that had to be dropped are counted, and their number is told once there is room', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sink = new Sink();
  const output = new LogOutput(sink, { maxWaitingBytes: 400 });
  const line = (n: number): string => `${String(n).repeat(99)}\n`;
  sink.room = 0;
  for (let n = 1; n <= 6; n += 1) {
    output.write(line(n));
    t.mock.timers.tick(20);
  }
  sink.room = Number.POSITIVE_INFINITY;
  t.mock.timers.tick(20);
  output.write(line(7));
  output.end();
  const lines = sink.taken.split('\n');
  assert.deepEqual(
    lines.map((text) => text.at(0)),
    ['1', '2', '3', '4', '{', '7', undefined],
  );
  assert.match(
    lines[4] ?? '',
    /^\{"level":"warn","time":"[^"]+","lines":2,"msg":"log lines were dropped[^\n]*\}$/,
  );
});

test('a disk that is full loses nothing that there is room for once it has some again', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sink = new Sink();
  const output = new LogOutput(sink);
  sink.broken = true;
  output.write('1\n');
  t.mock.timers.tick(20);
  sink.broken = false;
  t.mock.timers.tick(20);
  assert.equal(sink.taken, '1\n');
});

test('an end at which nothing can be written is an end all the same', () => {
  const sink = new Sink();
  const output = new LogOutput(sink);
  sink.broken = true;
  output.write('1\n');
  assert.doesNotThrow(() => output.end());
  assert.equal(sink.taken, '');
});
