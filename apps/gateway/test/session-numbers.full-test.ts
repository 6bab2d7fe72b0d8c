/** The numbers of sessions, whole. */

import { test } from 'node:test';
import { vias } from './support/kubelet-rig.ts';
import { execsLeaveNothing, slowReaderGetsAll } from './support/session-numbers.ts';

for (const ending of ['complete', 'goodbye-only', 'fin-only'] as const) {
  test(`BB-50: 1,000 execs, 10 at a time, in both protocols, ended with ${ending}: sockets and gauges are back within 2 s`, (t) =>
    execsLeaveNothing(t, 1_000, ending));
}

for (const via of vias) {
  test(`200 MB through exec over ${via} to a reader of 5 MB/s: every byte and the exit code, and less than 32 MB held for it`, (t) =>
    slowReaderGetsAll(t, via, { megabytes: 200, megabytesPerSecond: 5 }));
}
