/** The section about the gateway: every case, round by round, each contestant in turn. */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LoadHandlers } from '../load/load-program.ts';
import { commitOf, machineFacts } from '../measure/machine-facts.ts';
import { processUsage } from '../measure/process-usage.ts';
import { Worker } from '../measure/worker.ts';
import type { CaseResult, RequestSample, Results, Row, Sample, WatchSample } from '../report/results.ts';
import type { Case, RequestCase, WatchCase } from './cases.ts';
import type { Contestant, RunningProxy } from './contestant.ts';
import { kubectlProxy } from './kubectl-proxy.ts';
import { nginxProxy } from './nginx-proxy.ts';
import { findPeers, versionsOf } from './peers.ts';
import type { Peers } from './peers.ts';
import { bodies, openRig } from './rig.ts';
import type { Rig } from './rig.ts';
import {
  gateway,
  gatewayBare,
  gatewayOf,
  gatewayOverHttp1,
  gatewayOverHttp2,
  gatewayWithoutLog,
} from './roundhouse-gateway.ts';

export interface GatewayRunOptions {
  readonly cases: readonly Case[];
  /** Who takes part; default: all that a case names. */
  readonly only?: readonly string[];
  /** Another checkout, whose gateway takes part in every case. */
  readonly baseline?: string | undefined;
  /** For CPU profiles of the gateways. */
  readonly profileFolder?: string | undefined;
  readonly rounds: number;
  /** Of load, per round and contestant. */
  readonly seconds: number;
  readonly environment: NodeJS.ProcessEnv;
  /** Ends it: the run fails as soon as it can, and takes everything with it that it has started. */
  readonly signal: AbortSignal;
  /** Told of each sample. */
  readonly onSample: (result: string, contestant: string, round: number, sample: Sample) => void;
  readonly report: (line: string) => void;
}

/** Once for each proxy before the first round: a gateway runs for weeks, its compiler for some seconds. */
const firstWarmUpMs = 7_000;
/** In each round, until the connections are open and in use. */
const warmUpMs = 300;
/** With a fresh process each, watches take long; and memory is steadier than time. */
const maxWatchRounds = 3;
/** After the last watch is open: what was only needed for that may go. */
const settleMs = 1_000;

interface Bench {
  readonly rig: Rig;
  readonly load: Worker<LoadHandlers>;
  readonly contestants: readonly Contestant[];
  readonly options: GatewayRunOptions;
}

export async function runGatewaySection(options: GatewayRunOptions): Promise<Results> {
  const startedAt = new Date().toISOString();
  const machine = machineFacts();
  const peers = await findPeers(options.environment, options.report);
  await using opened = await openRig(peers.nginx, options.profileFolder);
  await using load = new Worker<LoadHandlers>(join(import.meta.dirname, '../load/load-program.ts'));
  // Most of the time is spent waiting for the load; without it everything comes to its end.
  options.signal.addEventListener('abort', () => void load[Symbol.asyncDispose](), { once: true });
  const bench: Bench = {
    rig: opened.rig,
    load,
    contestants: contestantsOf(peers, options.baseline),
    options,
  };
  const results: CaseResult[] = [];
  for (const measured of options.cases) {
    const { name, title, target } = measured;
    const rows = await runCase(measured, bench);
    results.push({ name, title, ...(target !== undefined && { target }), rows });
  }
  return {
    schemaVersion: 1,
    section: 'gateway',
    startedAt,
    commit: await commitOf(import.meta.dirname),
    machine,
    versions: await versionsOf(peers),
    parameters: {
      rounds: options.rounds,
      'rounds of watches': Math.min(options.rounds, maxWatchRounds),
      'seconds a round': options.seconds,
      'seconds of warm-up': firstWarmUpOf(options) / 1000,
      upstream:
        opened.rig.staticServer === 'nginx'
          ? 'nginx, one worker, files over TLS'
          : 'our own server, over TLS',
      'upstream of the watches': 'our own server, over TLS, 250 streams a session',
    },
    leftOut: peers.leftOut,
    cases: results,
  };
}

function contestantsOf({ kubectl, nginx }: Peers, baseline: string | undefined): readonly Contestant[] {
  return [
    gateway,
    ...(baseline === undefined ? [] : [gatewayOf(baseline)]),
    ...(kubectl === undefined ? [] : [kubectlProxy(kubectl)]),
    ...(nginx === undefined ? [] : [nginxProxy(nginx)]),
    gatewayOverHttp1,
    gatewayOverHttp2,
    gatewayWithoutLog,
    gatewayBare,
  ];
}

async function runCase(measured: Case, bench: Bench): Promise<readonly Row[]> {
  const { only } = bench.options;
  const taking = bench.contestants.filter(
    ({ name }) =>
      (measured.contestants.includes(name) || name === 'gateway, baseline') &&
      (only === undefined || only.includes(name)),
  );
  return measured.kind === 'requests'
    ? runRequests(measured, taking, bench)
    : runWatches(measured, taking, bench);
}

/** The proxies live through all rounds: what is measured is how they work, not how they start. */
async function runRequests(
  measured: RequestCase,
  contestants: readonly Contestant[],
  bench: Bench,
): Promise<readonly Row[]> {
  await using running = new AsyncDisposableStack();
  const proxies: { contestant: Contestant; proxy: RunningProxy; samples: Sample[] }[] = [];
  for (const contestant of contestants) {
    const proxy = await contestant.start({ rig: bench.rig, upstream: 'static', front: measured.front });
    proxies.push({ contestant, proxy: running.use(proxy), samples: [] });
  }
  for (const { proxy } of proxies) {
    bench.options.signal.throwIfAborted();
    await openLoad(measured, proxy, bench);
    await bench.load.ask('runRequests', firstWarmUpOf(bench.options));
    await bench.load.ask('close', undefined);
  }
  for (let round = 0; round < bench.options.rounds; round += 1) {
    for (const { contestant, proxy, samples } of proxies) {
      bench.options.signal.throwIfAborted();
      const sample = await measureRequests(measured, proxy, bench);
      samples.push(sample);
      bench.options.onSample(measured.name, contestant.name, round, sample);
    }
  }
  return proxies.map(({ contestant: { name, setup }, samples }) => ({ contestant: name, setup, samples }));
}

function firstWarmUpOf({ seconds }: GatewayRunOptions): number {
  return Math.min(firstWarmUpMs, 10_000 * seconds);
}

async function openLoad(
  { path, protocol, connections, inFlight }: RequestCase,
  { url }: RunningProxy,
  { load, rig }: Bench,
): Promise<void> {
  await load.ask('openRequests', {
    url: `${url}${path}`,
    caPem: rig.caPem,
    bodyBytes: bodies[path],
    protocol,
    connections,
    inFlight,
  });
}

async function measureRequests(
  measured: RequestCase,
  proxy: RunningProxy,
  bench: Bench,
): Promise<RequestSample> {
  const { load, options } = bench;
  const { pid } = proxy;
  await openLoad(measured, proxy, bench);
  await load.ask('runRequests', warmUpMs);
  const before = await processUsage(pid);
  const { requests, seconds, p50Ms, p99Ms, maxMs } = await load.ask('runRequests', options.seconds * 1000);
  const after = await processUsage(pid);
  await load.ask('close', undefined);
  return {
    kind: 'requests',
    requests,
    seconds,
    cpuUserMs: after.userMs - before.userMs,
    cpuSystemMs: after.systemMs - before.systemMs,
    p50Ms,
    p99Ms,
    maxMs,
    peakKib: after.peakKib,
  };
}

/** A fresh proxy each round: memory that it has once had, a process seldom gives back. */
async function runWatches(
  measured: WatchCase,
  contestants: readonly Contestant[],
  bench: Bench,
): Promise<readonly Row[]> {
  const rows = contestants.map(({ name, setup }) => ({ contestant: name, setup, samples: [] as Sample[] }));
  const rounds = Math.min(bench.options.rounds, maxWatchRounds);
  for (let round = 0; round < rounds; round += 1) {
    for (const [index, contestant] of contestants.entries()) {
      bench.options.signal.throwIfAborted();
      await using proxy = await contestant.start({
        rig: bench.rig,
        upstream: 'watched',
        front: measured.front,
      });
      const sample = await measureWatches(measured, proxy, bench);
      rows[index]?.samples.push(sample);
      bench.options.onSample(measured.name, contestant.name, round, sample);
    }
  }
  return rows;
}

async function measureWatches(
  { streams }: WatchCase,
  { pid, url }: RunningProxy,
  { load, rig }: Bench,
): Promise<WatchSample> {
  const { caPem } = rig;
  const path = '/api/v1/namespaces/default/configmaps/small';
  await load.ask('openRequests', {
    url: `${url}${path}`,
    caPem,
    bodyBytes: bodies[path],
    protocol: 'http/1.1',
    connections: 8,
    inFlight: 8,
  });
  await load.ask('runRequests', warmUpMs);
  await load.ask('close', undefined);
  const before = await processUsage(pid);
  await load.ask('openWatches', { url: `${url}/api/v1/pods?watch=1`, caPem, streams });
  await sleep(settleMs);
  const open = await processUsage(pid);
  await rig.upstream.ask('sendEvent', 2);
  const delivered = await load.ask('deliveredEvents', 2);
  const after = await processUsage(pid);
  await load.ask('close', undefined);
  return {
    kind: 'watches',
    streams,
    delivered,
    residentBeforeKib: before.residentKib,
    residentOpenKib: open.residentKib,
    peakKib: after.peakKib,
    cpuUserMs: after.userMs - before.userMs,
    cpuSystemMs: after.systemMs - before.systemMs,
  };
}
