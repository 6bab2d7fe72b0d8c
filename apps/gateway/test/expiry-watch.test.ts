import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLogger } from '@roundhouse/process';
import { ExpiryWatch } from '../src/observability/expiry-watch.ts';
import type { WatchedCertificate } from '../src/observability/expiry-watch.ts';

const day = 86_400_000;
const start = Date.UTC(2026, 0, 1);

/** What is told of a certificate of that life, by the day at which it was looked at. */
function told(lifeDays: number, looks: readonly number[]): string[] {
  const lines: string[] = [];
  let now = start;
  const certificate: WatchedCertificate = {
    fields: { cluster: 'alpha', part: 'pair' },
    validFrom: new Date(start),
    expiresAt: new Date(start + lifeDays * day),
  };
  using watch = ExpiryWatch.start({
    certificates: () => [certificate],
    now: () => now,
    log: createLogger({
      destination: {
        write: (line) => {
          const { level, msg, cluster } = JSON.parse(line);
          assert.equal(cluster, 'alpha');
          lines.push(`${(now - start) / day}: ${level}: ${msg}`);
        },
      },
    }),
  });
  for (const look of looks) {
    now = start + look * day;
    watch.look();
  }
  return lines;
}

test('a certificate of a year is told of 30 days and 3 days before its end, and when it is over, once each', () => {
  assert.deepEqual(told(365, [0, 300, 334, 335.5, 340, 361, 362.5, 364, 364.9, 365, 366, 400]), [
    '335.5: warn: certificate expires soon',
    '362.5: warn: certificate expires very soon',
    '365: error: certificate has expired',
  ]);
});

test('one of a day is told of when a fifth of its life is left, and not all the time', () => {
  assert.deepEqual(told(1, [0, 0.5, 0.79, 0.81, 0.9, 0.96, 0.99]), [
    '0.81: warn: certificate expires soon',
    '0.96: warn: certificate expires very soon',
  ]);
});

test('one that is renewed in time, or goes, is told of no more', () => {
  const lines: string[] = [];
  let certificates: WatchedCertificate[] = [];
  const certificate = (left: number): WatchedCertificate => ({
    fields: { cluster: 'alpha', part: 'ca' },
    validFrom: new Date(start - 100 * day),
    expiresAt: new Date(start + left * day),
  });
  using watch = ExpiryWatch.start({
    certificates: () => certificates,
    now: () => start,
    log: createLogger({ destination: { write: (line) => void lines.push(line) } }),
  });
  for (const next of [[certificate(90)], [certificate(10)], [certificate(10)], [certificate(95)], []]) {
    certificates = next;
    watch.look();
  }
  assert.equal(lines.length, 1);
});
