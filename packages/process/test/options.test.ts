import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { ProcessError, parseOptions } from '../src/index.ts';

const schema = z.strictObject({ port: z.int().min(0).max(65_535).default(7443) });

test('defaults are filled in, an unknown key and a bad value are errors that name the option', () => {
  assert.deepEqual(parseOptions('test', schema, {}), { port: 7443 });
  for (const [value, message] of [
    [{ prot: 1 }, /Unrecognized key: "prot"/],
    [{ port: 70_000 }, /port/],
    ['text', /expected object/],
  ] as const) {
    assert.throws(
      () => parseOptions('test', schema, value),
      (error) =>
        error instanceof ProcessError &&
        error.code === 'ERR_RH_OPTIONS_INVALID' &&
        message.test(error.message),
    );
  }
});
