/** The numbers of sessions at a small scale; `session-numbers.full-test.ts` has the whole one. */

import { test } from 'node:test';
import { vias } from './support/kubelet-rig.ts';
import { execsLeaveNothing, slowReaderGetsAll } from './support/session-numbers.ts';

test('BB-50: 120 execs, 10 at a time, in both protocols: sockets and gauges are back within 2 s', (t) =>
  execsLeaveNothing(t, 120));

for (const ending of ['goodbye-only', 'fin-only'] as const) {
  test(`BB-50: the same of a cluster that ends its sessions with ${ending}`, (t) =>
    execsLeaveNothing(t, 40, ending));
}

for (const via of vias) {
  test(`24 MB through exec over ${via} to a reader of 16 MB/s: every byte and the exit code, and little kept`, (t) =>
    slowReaderGetsAll(t, via, { megabytes: 24, megabytesPerSecond: 16 }));
}
