import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exitCodes as programCodes } from '@roundhouse/process';
import { exitCodes } from '../src/exit-codes.ts';

test('the exit codes that are printed are those of the programs', () => {
  const printed = Object.entries(exitCodes).map(([name, { code }]) => [name, code]);
  assert.deepEqual(Object.fromEntries(printed), programCodes);
});
