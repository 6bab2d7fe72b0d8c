/** The file behind the audit log: its buffer, its failures and its rotation. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, readFile, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { createLogger } from '@roundhouse/process';
import { AuditLog } from '../src/observability/audit-log.ts';
import type { AuditLogOptions } from '../src/observability/audit-log.ts';
import type { AuditSink } from '../src/observability/audit-sink.ts';

/** A sink that does what the test says. */
class PlannedSink implements AuditSink {
  readonly midway = false;
  text = '';
  failure: Error | undefined;
  stuck: Promise<void> | undefined;
  readonly wrote = new PassThrough();

  async write(bytes: Buffer): Promise<void> {
    await this.stuck;
    if (this.failure !== undefined) throw this.failure;
    this.text += bytes.toString();
    this.wrote.emit('wrote');
  }

  isStale(): Promise<boolean> {
    return Promise.resolve(false);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

const lines: string[] = [];
const told = (words: string): number => lines.filter((line) => line.includes(words)).length;

async function openLog(t: TestContext, more: Partial<AuditLogOptions> = {}): Promise<AuditLog> {
  lines.length = 0;
  const log = createLogger({ destination: { write: (line) => void lines.push(line) } });
  const audit = await AuditLog.open({ path: 'x', maxBufferBytes: 65_536, required: false, log, ...more });
  t.after(() => audit[Symbol.asyncDispose]());
  return audit;
}

async function folderFor(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'roundhouse-audit-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const idsIn = (text: string): number[] =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).id);

test('lines are appended in order, to what was there, in a file for its owner alone; all are out at the end', async (t) => {
  const path = join(await folderFor(t), 'audit.log');
  for (let round = 0; round < 2; round += 1) {
    const audit = await openLog(t, { path });
    for (let id = 0; id < 100; id += 1) audit.write({ id: round * 100 + id });
    await audit[Symbol.asyncDispose]();
    assert.deepEqual(
      [audit.numbers.written, audit.numbers.dropped, audit.numbers.bufferedBytes],
      [100, 0, 0],
    );
  }
  assert.deepEqual(
    idsIn(await readFile(path, 'utf8')),
    Array.from({ length: 200 }, (_, id) => id),
  );
  assert.equal((await stat(path)).mode & 0o777, 0o600);
});

test('a file that is rotated away or told of by a signal is opened anew, and no line is lost or cut', async (t) => {
  const path = join(await folderFor(t), 'audit.log');
  const audit = await openLog(t, { path });
  audit.write({ id: 0 });
  while (audit.numbers.written < 1) await new Promise(setImmediate);
  await rename(path, `${path}.1`);
  audit.reopen();
  audit.write({ id: 1 });
  while (audit.numbers.written < 2) await new Promise(setImmediate);
  assert.deepEqual(idsIn(await readFile(path, 'utf8')), [1]);
  assert.deepEqual(idsIn(await readFile(`${path}.1`, 'utf8')), [0]);

  await rename(path, `${path}.2`);
  let id = 2;
  while ((await stat(path).catch(() => undefined)) === undefined) {
    audit.write({ id });
    id += 1;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  await audit[Symbol.asyncDispose]();
  const all = idsIn((await readFile(`${path}.2`, 'utf8')) + (await readFile(path, 'utf8')));
  assert.deepEqual(
    all,
    Array.from({ length: id - 1 }, (_, index) => index + 1),
  );
});

test('what cannot be opened is an error at the start', async (t) => {
  await assert.rejects(
    openLog(t, { path: join(await folderFor(t), 'none', 'audit.log') }),
    /ERR_RH_FILE_UNUSABLE: cannot write the audit log/,
  );
});

test('a full buffer loses lines, counted and told once, and refuses requests only where lines are required', async (t) => {
  for (const required of [false, true]) {
    const sink = new PlannedSink();
    const { promise, resolve } = Promise.withResolvers<void>();
    sink.stuck = promise;
    const audit = await openLog(t, { open: () => Promise.resolve(sink), required });
    for (let id = 0; id < 2_000; id += 1) audit.write({ id, text: 'x'.repeat(100) });
    assert.ok(audit.numbers.bufferedBytes <= 65_536);
    assert.ok(audit.numbers.dropped > 1_000);
    assert.equal(told('buffer of the audit log is full'), 1);
    assert.equal(audit.refusal, required ? 'the audit log cannot be written' : undefined);
    resolve();
    await once(sink.wrote, 'wrote');
    while (audit.numbers.bufferedBytes > 0) await new Promise(setImmediate);
    assert.equal(audit.refusal, undefined);
    assert.equal(told('written again'), 1);
    assert.equal(audit.numbers.written + audit.numbers.dropped, 2_000);
  }
});

test('a write that fails is told once and tried again, and its lines are not lost', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const sink = new PlannedSink();
  sink.failure = new Error('ENOSPC: no space left');
  const audit = await openLog(t, { open: () => Promise.resolve(sink), required: true });
  audit.write({ id: 1 });
  for (let failures = 1; failures <= 3; failures += 1) {
    while (audit.numbers.writeErrors < failures) await new Promise(setImmediate);
    await new Promise(setImmediate);
    assert.equal(audit.refusal, 'the audit log cannot be written');
    if (failures === 3) sink.failure = undefined;
    audit.write({ id: failures + 1 });
    t.mock.timers.tick(1_000);
  }
  while (audit.numbers.bufferedBytes > 0) await new Promise(setImmediate);
  assert.deepEqual(idsIn(sink.text), [1, 2, 3, 4]);
  assert.equal(told('the audit log cannot be written'), 1);
  assert.equal(audit.refusal, undefined);
  t.mock.timers.reset();
});
