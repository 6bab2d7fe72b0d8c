import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { Metrics, Observations } from '../src/index.ts';

const bounds = [0.1, 1, 10];
const values = [0, 0.1, 0.11, 1, 5, 10, 10.01, 1_000];

test('it exports what prom-client would have counted itself', async () => {
  const registry = new Registry();
  const theirs = new Histogram({
    name: 'seconds',
    help: 'How long.',
    labelNames: ['cluster', 'verb'],
    buckets: bounds,
    registers: [registry],
  });
  const ours = ['get', 'list'].map((verb) => new Observations({ cluster: 'a "b"', verb }, bounds));
  for (const observations of ours) {
    for (const value of values) {
      observations.observe(value);
      theirs.observe(observations.labels, value);
    }
  }
  const metrics = new Metrics();
  metrics.histogram({ name: 'seconds', help: 'How long.', labelNames: ['cluster', 'verb'] }, () => ours);
  assert.equal(await metrics.text(), await registry.metrics());
});

test('a set of labels with which nothing was observed is not exported', async () => {
  const metrics = new Metrics();
  const idle = new Observations({ verb: 'get' }, bounds);
  metrics.histogram({ name: 'seconds', help: 'How long.', labelNames: ['verb'] }, () => [idle]);
  assert.doesNotMatch(await metrics.text(), /seconds_count/);
  assert.deepEqual(
    metrics.describe().map(({ type }) => type),
    ['histogram'],
  );
});
