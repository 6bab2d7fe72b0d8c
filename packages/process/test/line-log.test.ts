import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LineLog, createLogger } from '../src/index.ts';

function loggerInto(lines: string[]) {
  return createLogger({ destination: { write: (line) => void lines.push(line) } });
}

test('a line that was composed by hand is the line that the logger would have written', () => {
  const lines: string[] = [];
  const log = loggerInto(lines);
  for (const logger of [log, log.child({ gateway: 'a "b"', token: 'planted' })]) {
    const composed = new LineLog(logger, 'say "request"');
    composed.info(() => ',"code":200,"path":"/"');
    logger.info({ code: 200, path: '/' }, 'say "request"');
    composed.error(() => ',"code":500');
    logger.error({ code: 500 }, 'say "request"');
  }
  const withoutTime = lines.map((line) => line.replace(/"time":"[^"]+"/, '"time":""'));
  assert.equal(lines.length, 8);
  for (let index = 0; index < lines.length; index += 2) {
    assert.equal(withoutTime[index], withoutTime[index + 1]);
  }
  assert.match(lines[4] ?? '', /"gateway":"a \\"b\\"","token":"\[redacted\]"/);
  assert.match(lines[0] ?? '', /^\{"level":"info","time":"\d{4}-\d\d-\d\dT[^"]+Z","code":200/);
});

test('it follows the level of its logger, also when that changes, and composes nothing below it', () => {
  const lines: string[] = [];
  const logger = loggerInto(lines);
  const log = new LineLog(logger, 'm');
  logger.level = 'warn';
  log.info(() => assert.fail('composed for nobody'));
  log.error(() => ',"a":1');
  assert.equal(lines.length, 1);
  logger.level = 'info';
  log.info(() => ',"a":1');
  assert.equal(lines.length, 2);
  logger.level = 'silent';
  log.error(() => assert.fail('composed for nobody'));
});

test('the time of a line is the time at which it was written', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_000 });
  const lines: string[] = [];
  const log = loggerInto(lines);
  for (const ms of [0, 0, 1, 500]) {
    t.mock.timers.tick(ms);
    log.info('m');
  }
  const times = lines.map((line) => Date.parse(/"time":"([^"]+)"/.exec(line)?.[1] ?? ''));
  assert.deepEqual(times, [1_000, 1_000, 1_001, 1_501]);
});
