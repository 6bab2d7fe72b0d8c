/** The net below the rule that secrets are not logged. Whatever form they come in, what is planted here must not come out. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createLogger } from '../src/index.ts';
import type { Logger } from '../src/index.ts';

const planted = 'PLANTED-SECRET';

/** The lines that `use` has written, after it was seen that none holds what was planted. */
function linesOf(use: (log: Logger) => void): unknown[] {
  const lines: string[] = [];
  use(createLogger({ destination: { write: (line) => void lines.push(line) } }));
  for (const line of lines) {
    assert.ok(!line.includes(planted), line);
  }
  return lines.map((line) => ({ ...(JSON.parse(line) as object), time: 't' }));
}

suite('a secret does not come out', () => {
  test('at the top of a line, in any case and spelling', () => {
    const [line] = linesOf((log) =>
      log.info({ Authorization: planted, client_key: planted, 'client-key': planted, user: 'ann' }, 'm'),
    );
    assert.deepEqual(line, {
      level: 'info',
      time: 't',
      Authorization: '[redacted]',
      client_key: '[redacted]',
      'client-key': '[redacted]',
      user: 'ann',
      msg: 'm',
    });
  });

  test('in nested values, whatever lies between', () => {
    const [line] = linesOf((log) =>
      log.info({ request: { options: [{ headers: { cookie: planted, accept: 'text/plain' } }] } }, 'm'),
    );
    assert.deepEqual(line, {
      level: 'info',
      time: 't',
      request: { options: [{ headers: { cookie: '[redacted]', accept: 'text/plain' } }] },
      msg: 'm',
    });
  });

  test('under its name when it is an object or a list itself', () => {
    linesOf((log) => log.info({ token: { value: planted }, headers: { 'set-cookie': [planted, planted] } }));
  });

  test('in header fields as one list, and as pairs', () => {
    const [flat, pairs] = linesOf((log) => {
      log.info({ fields: ['Accept', 'text/plain', 'Authorization', planted, 'Cookie', planted] }, 'm');
      log.info(
        {
          fields: [
            ['accept', 'text/plain'],
            ['authorization', planted],
          ],
        },
        'm',
      );
    });
    const line = { level: 'info', time: 't', msg: 'm' };
    assert.deepEqual(flat, {
      ...line,
      fields: ['Accept', 'text/plain', 'Authorization', '[redacted]', 'Cookie', '[redacted]'],
    });
    assert.deepEqual(pairs, {
      ...line,
      fields: [
        ['accept', 'text/plain'],
        ['authorization', '[redacted]'],
      ],
    });
  });

  test('in what a child logger is bound to, and a child of that, and when it is bound anew', () => {
    const [first, second, third] = linesOf((log) => {
      const child = log.child({ token: planted, cluster: 'alpha' });
      child.info('m');
      const grandchild = child.child({ headers: { authorization: planted } }, { level: 'debug' });
      grandchild.info({ password: planted }, 'm');
      grandchild.setBindings({ request: { cookie: planted } });
      grandchild.info('m');
    });
    const bound = { level: 'info', time: 't', msg: 'm', token: '[redacted]', cluster: 'alpha' };
    assert.deepEqual(first, bound);
    const withHeaders = { ...bound, headers: { authorization: '[redacted]' } };
    assert.deepEqual(second, { ...withHeaders, password: '[redacted]' });
    assert.deepEqual(third, { ...withHeaders, request: { cookie: '[redacted]' } });
  });

  test('in what hangs on an error', () => {
    const error = Object.assign(new Error('refused'), { options: { headers: { authorization: planted } } });
    const [asErr, alone, elsewhere] = linesOf((log) => {
      log.error({ err: error }, 'm');
      log.error(error);
      log.error({ failure: error }, 'm');
    });
    const options = { headers: { authorization: '[redacted]' } };
    for (const line of [asErr, alone]) {
      const { err } = line as { err: Record<string, unknown> };
      assert.equal(err['message'], 'refused');
      assert.match(String(err['stack']), /^Error: refused\n/);
      assert.deepEqual(err['options'], options);
    }
    assert.deepEqual((elsewhere as { failure: unknown }).failure, { options });
  });

  test('in bytes, which may be anything', () => {
    const lines = linesOf((log) => {
      log.info({ content: Buffer.from('abc') });
      log.info({ content: new Uint8Array([97, 98, 99]) });
    });
    assert.doesNotMatch(JSON.stringify(lines), /97/);
  });

  test('in what is deeper or larger than anything of ours, or goes round in a circle', () => {
    const circle: Record<string, unknown> = { token: planted };
    circle['self'] = circle;
    let deep: Record<string, unknown> = { token: planted };
    for (let depth = 0; depth < 20; depth += 1) {
      deep = { deep };
    }
    const large = Array.from({ length: 5_000 }, () => ({ cookie: planted, name: 'n' }));
    linesOf((log) => {
      log.info({ circle });
      log.info({ deep });
      log.info({ large });
    });
  });
});

test('what was logged keeps its secrets, and what is beside them is logged', () => {
  const headers = { cookie: 'a=b', accept: 'text/plain' };
  linesOf((log) => log.info({ headers }, 'hello'));
  assert.equal(headers.cookie, 'a=b');
});

test('a date stays a date, and nothing stays nothing', () => {
  const at = new Date(0);
  const [line] = linesOf((log) => log.info({ at, none: null, missing: undefined, list: [at] }, 'm'));
  assert.deepEqual(line, {
    level: 'info',
    time: 't',
    at: '1970-01-01T00:00:00.000Z',
    none: null,
    list: ['1970-01-01T00:00:00.000Z'],
    msg: 'm',
  });
});
