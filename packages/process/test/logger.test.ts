import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '../src/index.ts';

test('a line has time, level as a word and message, and secrets under their usual names are redacted', () => {
  const lines: string[] = [];
  const log = createLogger({ destination: { write: (line) => void lines.push(line) } });
  log.info({ cluster: 'alpha', token: 'planted', headers: { authorization: 'Bearer planted' } }, 'hello');
  const line: unknown = JSON.parse(lines[0] ?? '');
  assert.deepEqual(
    { ...(line as object), time: undefined },
    {
      level: 'info',
      time: undefined,
      cluster: 'alpha',
      token: '[redacted]',
      headers: { authorization: '[redacted]' },
      msg: 'hello',
    },
  );
  assert.match(lines[0] ?? '', /"time":"\d{4}-\d\d-\d\dT/);
});

test('what is below the level is not written', () => {
  const lines: string[] = [];
  const log = createLogger({ level: 'warn', destination: { write: (line) => void lines.push(line) } });
  log.info('no');
  log.warn('yes');
  assert.equal(lines.length, 1);
});
