/** The log on standard output: in batches, bounded, and whole when the process exits. */

import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
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

class Sink extends EventEmitter implements LogSink {
  readonly taken: string[] = [];
  full = false;
  broken = false;

  write(data: string): boolean {
    if (this.full) {
      this.emit('drop', data);
    } else {
      this.taken.push(data);
    }
    return true;
  }

  flushSync(): void {
    if (this.broken) {
      throw new Error('nobody reads');
    }
  }

  destroy(): void {
    this.emit('destroyed');
  }
}

test('lines of one moment leave together, and a large batch does not wait', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sink = new Sink();
  const output = new LogOutput(sink);
  output.write('a\n');
  output.write('b\n');
  assert.deepEqual(sink.taken, []);
  t.mock.timers.tick(20);
  assert.deepEqual(sink.taken, ['a\nb\n']);
  const large = `${'x'.repeat(20_000)}\n`;
  output.write(large);
  assert.deepEqual(sink.taken, ['a\nb\n', large]);
  t.mock.timers.tick(1_000);
  assert.equal(sink.taken.length, 2);
});

test('lines that had to be dropped are counted, and their number is told once there is room', () => {
  const sink = new Sink();
  const output = new LogOutput(sink);
  sink.full = true;
  for (const line of ['1\n', '2\n', '3\n']) {
    output.write(line);
  }
  output.end();
  output.write('4\n');
  output.end();
  sink.full = false;
  output.write('5\n');
  output.end();
  output.write('6\n');
  output.end();
  const [first = '', second] = sink.taken;
  assert.match(first, /^\{"level":"warn","time":"[^"]+","lines":4,"msg":"log lines were dropped[^\n]*\n5\n$/);
  assert.equal(second, '6\n');
  assert.equal(sink.taken.length, 2);
});

test('an end at which nothing can be written is an end all the same', () => {
  const sink = new Sink();
  const output = new LogOutput(sink);
  let destroyed = false;
  sink.on('destroyed', () => (destroyed = true));
  sink.broken = true;
  output.write('1\n');
  output.end();
  assert.ok(destroyed);
  assert.doesNotThrow(() => sink.emit('error', new Error('ENOSPC')));
});
