import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Metrics } from '@roundhouse/process';
import type { Exchange } from '../src/exchange.ts';
import { maxClusterLabels } from '../src/observability/by-cluster.ts';
import { exportRequests } from '../src/observability/export-requests.ts';
import { RequestCounts } from '../src/observability/request-counts.ts';

/** As far as counting looks at it. */
function exchangeTo(cluster: string): Exchange {
  return { bytesIn: 1, reply: { bytesOut: 10 }, cluster: { name: cluster } } as Exchange;
}

test('the numbers are the same at each look, and go on', async () => {
  const counts = new RequestCounts();
  const metrics = new Metrics();
  exportRequests(metrics, counts);
  counts.started();
  counts.ended(exchangeTo('alpha'), 200, 5);
  const first = await metrics.text();
  assert.equal(await metrics.text(), first);
  assert.match(first, /roundhouse_gateway_requests_total\{cluster="alpha",verb="",code="200"\} 1/);
  assert.match(first, /roundhouse_gateway_sent_bytes_total\{cluster="alpha"\} 10/);
  counts.started();
  counts.started();
  counts.ended(exchangeTo('alpha'), 200, 5);
  const second = await metrics.text();
  assert.match(second, /roundhouse_gateway_requests_total\{cluster="alpha",verb="",code="200"\} 2/);
  assert.match(second, /roundhouse_gateway_received_bytes_total\{cluster="alpha"\} 2/);
  assert.match(second, /roundhouse_gateway_requests_in_flight 1/);
});

test('the bytes of what lasts long are counted while it lasts, and once', async () => {
  const counts = new RequestCounts();
  const metrics = new Metrics();
  exportRequests(metrics, counts);
  const reply = { bytesOut: 0 };
  const session = { ...exchangeTo('alpha'), bytesIn: 0, reply } as Exchange;
  const bytes = async (): Promise<number[]> => {
    const text = await metrics.text();
    const lines = /^roundhouse_gateway_(?:received|sent)_bytes_total\{cluster="alpha"\} (\d+)$/gm;
    return Array.from(text.matchAll(lines), ([, number]) => Number(number));
  };
  counts.started();
  counts.longRunningStarted(session);
  session.bytesIn = 5;
  reply.bytesOut = 50;
  assert.deepEqual(await bytes(), [5, 50]);
  assert.deepEqual(await bytes(), [5, 50]);
  session.bytesIn = 6;
  reply.bytesOut = 60;
  assert.deepEqual(await bytes(), [6, 60]);
  session.bytesIn = 7;
  reply.bytesOut = 70;
  counts.ended(session, 101, 86_400_000);
  assert.deepEqual(await bytes(), [7, 70]);
  session.bytesIn = 8;
  assert.deepEqual(await bytes(), [7, 70]);
});

test('clusters that come and go do not grow them for ever: beyond the bound they are counted together', () => {
  const counts = new RequestCounts();
  for (let index = 0; index < maxClusterLabels + 100; index += 1) {
    counts.started();
    counts.ended(exchangeTo(`cluster-${index}`), 200, 5);
  }
  const clusters = [...counts.clusters];
  assert.ok(clusters.length <= maxClusterLabels + 2, String(clusters.length));
  const others = clusters.find(({ cluster }) => cluster === 'other');
  assert.equal(others?.of('').codes.get(200), 100);
});
