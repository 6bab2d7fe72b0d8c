/** The section about upgraded sessions: every case, round by round, each contestant in turn. */

import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Contestant, Front, RunningProxy } from '../gateway/contestant.ts';
import { kubectlProxy } from '../gateway/kubectl-proxy.ts';
import { findPeers, versionsOf } from '../gateway/peers.ts';
import { openRig } from '../gateway/rig.ts';
import type { Rig } from '../gateway/rig.ts';
import { gateway, variant } from '../gateway/roundhouse-gateway.ts';
import { commitOf, machineFacts } from '../measure/machine-facts.ts';
import { processUsage, resetPeak } from '../measure/process-usage.ts';
import type { ProcessUsage } from '../measure/process-usage.ts';
import { Worker } from '../measure/worker.ts';
import type { CaseResult, Results, Row, Sample } from '../report/results.ts';
import type { ExecSample, IdleSample, OutputSample, SlowSample } from '../report/session-samples.ts';
import type { ExecCase, IdleCase, OutputCase, SlowCase, UpgradeCase } from './cases.ts';
import type { ExecHandlers } from './exec-load-program.ts';

export interface UpgradesRunOptions {
  readonly cases: readonly UpgradeCase[];
  /** Who takes part; default: all. */
  readonly only?: readonly string[];
  readonly profileFolder?: string | undefined;
  readonly rounds: number;
  /** Of short sessions, per round and contestant. */
  readonly seconds: number;
  /** Bytes and idle sessions are multiplied by it. */
  readonly scale: number;
  readonly environment: NodeJS.ProcessEnv;
  /** Ends it: the run fails as soon as it can, and takes everything with it that it has started. */
  readonly signal: AbortSignal;
  /** Told of each sample. */
  readonly onSample: (result: string, contestant: string, round: number, sample: Sample) => void;
  readonly report: (line: string) => void;
}

const warmUpMs = 2_500;
/** Fresh processes take long; and memory is steadier than time. */
const maxIdleRounds = 3;
/** After the last session is open: what was only needed for that may go. */
const settleMs = 1_000;
/** One after the other, so that nothing is measured for the first time and the memory is not yet that of many. */
const sessionsBeforeIdleMs = 1_500;

interface Entrant {
  readonly contestant: Contestant;
  readonly front: Front;
}

interface Bench {
  readonly rig: Rig;
  readonly load: Worker<ExecHandlers>;
  readonly entrants: readonly Entrant[];
  readonly options: UpgradesRunOptions;
}

export async function runUpgradesSection(options: UpgradesRunOptions): Promise<Results> {
  const startedAt = new Date().toISOString();
  const machine = machineFacts();
  const { kubectl, leftOut } = await findPeers(options.environment, options.report);
  await using opened = await openRig(undefined, options.profileFolder);
  await using load = new Worker<ExecHandlers>(join(import.meta.dirname, 'exec-load-program.ts'));
  // Most of the time is spent waiting for the load; without it everything comes to its end.
  options.signal.addEventListener('abort', () => void load[Symbol.asyncDispose](), { once: true });
  const entrants = entrantsOf(kubectl).filter(
    ({ contestant }) => options.only === undefined || options.only.includes(contestant.name),
  );
  const bench: Bench = { rig: opened.rig, load, entrants, options };
  const results: CaseResult[] = [];
  for (const measured of options.cases) results.push(await runCase(measured, bench));
  return {
    schemaVersion: 1,
    section: 'upgrades',
    startedAt,
    commit: await commitOf(import.meta.dirname),
    machine,
    versions: await versionsOf({ kubectl, nginx: undefined, leftOut: [] }),
    parameters: {
      rounds: options.rounds,
      'rounds of idle sessions': Math.min(options.rounds, maxIdleRounds),
      'seconds a round of short sessions': options.seconds,
      'seconds of warm-up': warmUpOf(options) / 1000,
      ...(options.scale !== 1 && { 'sessions and bytes are multiplied by': options.scale }),
      upstream: 'our own server, over TLS',
    },
    leftOut: leftOut.filter(({ contestant }) => contestant === 'kubectl proxy'),
    cases: results,
  };
}

function entrantsOf(kubectl: string | undefined): readonly Entrant[] {
  const overTls = variant({
    name: 'gateway, TLS in front',
    setup: 'the same with `--tls-cert-file` and `--tls-key-file`, and the client over TLS',
  });
  return [
    { contestant: gateway, front: 'http' },
    ...(kubectl === undefined
      ? []
      : [{ contestant: kubectlProxy(kubectl, ['--disable-filter']), front: 'http' as const }]),
    { contestant: overTls, front: 'https' },
  ];
}

async function runCase(measured: UpgradeCase, bench: Bench): Promise<CaseResult> {
  const { name, title } = measured;
  switch (measured.kind) {
    case 'execs':
    case 'output':
      return { name, title, rows: await runWarm(measured, bench) };
    case 'idle': {
      const target = { contestant: 'gateway', to: 'kubectl proxy', ratio: measured.ratio };
      return { name, title, target, rows: await runIdle(measured, bench) };
    }
    case 'slow': {
      const limit = { contestant: 'gateway', most: measured.mostMb };
      return { name, title, limit, rows: await runSlow(measured, bench) };
    }
  }
}

function start({ contestant, front }: Entrant, { rig, options }: Bench): Promise<RunningProxy> {
  options.signal.throwIfAborted();
  return contestant.start({ rig, upstream: 'watched', front });
}

function rowsOf({ entrants }: Bench): readonly (Row & { readonly samples: Sample[] })[] {
  return entrants.map(({ contestant: { name, setup } }) => ({ contestant: name, setup, samples: [] }));
}

/** The proxies live through all rounds: what is measured is how they work, not how they start. */
async function runWarm(measured: ExecCase | OutputCase, bench: Bench): Promise<readonly Row[]> {
  await using running = new AsyncDisposableStack();
  const proxies: RunningProxy[] = [];
  for (const entrant of bench.entrants) proxies.push(running.use(await start(entrant, bench)));
  for (const proxy of proxies) await warmUp(measured, proxy, bench, warmUpOf(bench.options));
  const rows = rowsOf(bench);
  for (let round = 0; round < bench.options.rounds; round += 1) {
    for (const [index, proxy] of proxies.entries()) {
      bench.options.signal.throwIfAborted();
      const sample =
        measured.kind === 'execs'
          ? await measureExecs(measured, proxy, bench)
          : await measureOutput(measured, proxy, bench);
      keep(sample, measured, rows[index], round, bench);
    }
  }
  return rows;
}

function warmUpOf({ seconds }: UpgradesRunOptions): number {
  return Math.min(warmUpMs, seconds * 3_000);
}

async function warmUp(
  { protocol }: UpgradeCase,
  { url }: RunningProxy,
  { load, rig }: Bench,
  durationMs: number,
): Promise<void> {
  await load.ask('runExecs', { url, caPem: rig.caPem, protocol, lanes: 1, durationMs });
}

async function measureExecs(
  { protocol, lanes }: ExecCase,
  { pid, url }: RunningProxy,
  { load, rig, options }: Bench,
): Promise<ExecSample> {
  const before = await processUsage(pid);
  const result = await load.ask('runExecs', {
    url,
    caPem: rig.caPem,
    protocol,
    lanes,
    durationMs: options.seconds * 1000,
  });
  return { kind: 'execs', ...result, ...spent(before, await processUsage(pid)) };
}

async function measureOutput(
  { protocol, streams, bytes }: OutputCase,
  { pid, url }: RunningProxy,
  { load, rig, options }: Bench,
): Promise<OutputSample> {
  const each = (bytes * options.scale) / streams;
  const before = await processUsage(pid);
  const result = await load.ask('runOutput', { url, caPem: rig.caPem, protocol, streams, bytes: each });
  return { kind: 'output', streams, ...result, ...spent(before, await processUsage(pid)) };
}

/** A fresh proxy each round: memory that it has once had, a process seldom gives back. */
async function runIdle(measured: IdleCase, bench: Bench): Promise<readonly Row[]> {
  const rows = rowsOf(bench);
  for (let round = 0; round < Math.min(bench.options.rounds, maxIdleRounds); round += 1) {
    for (const [index, entrant] of bench.entrants.entries()) {
      await using proxy = await start(entrant, bench);
      await warmUp(measured, proxy, bench, sessionsBeforeIdleMs);
      keep(await measureIdle(measured, proxy, bench), measured, rows[index], round, bench);
    }
  }
  return rows;
}

async function measureIdle(
  { protocol, sessions: asked }: IdleCase,
  { pid, url }: RunningProxy,
  { load, rig, options }: Bench,
): Promise<IdleSample> {
  const sessions = Math.ceil(asked * options.scale);
  await sleep(settleMs);
  const before = await processUsage(pid);
  await load.ask('openIdle', { url, caPem: rig.caPem, protocol, sessions });
  await sleep(settleMs);
  const open = await processUsage(pid);
  const delivered = await load.ask('aliveIdle', undefined);
  const after = await processUsage(pid);
  await load.ask('closeIdle', undefined);
  return {
    kind: 'idle',
    sessions,
    delivered,
    residentBeforeKib: before.residentKib,
    residentOpenKib: open.residentKib,
    ...spent(before, after),
  };
}

/** Once, and all at the same time: it takes long, and leaves the machine idle. */
async function runSlow(measured: SlowCase, bench: Bench): Promise<readonly Row[]> {
  await using running = new AsyncDisposableStack();
  const proxies: RunningProxy[] = [];
  for (const entrant of bench.entrants) proxies.push(running.use(await start(entrant, bench)));
  for (const proxy of proxies) await warmUp(measured, proxy, bench, sessionsBeforeIdleMs);
  const samples = await Promise.all(proxies.map((proxy) => measureSlow(measured, proxy, bench)));
  const rows = rowsOf(bench);
  for (const [index, sample] of samples.entries()) keep(sample, measured, rows[index], 0, bench);
  return rows;
}

async function measureSlow(
  { protocol, bytes, bytesPerSecond }: SlowCase,
  { pid, url }: RunningProxy,
  { load, rig, options }: Bench,
): Promise<SlowSample> {
  await resetPeak(pid);
  const before = await processUsage(pid);
  const result = await load.ask('runOutput', {
    url,
    caPem: rig.caPem,
    protocol,
    streams: 1,
    bytes: bytes * options.scale,
    bytesPerSecond,
  });
  const after = await processUsage(pid);
  return { kind: 'slow', residentBeforeKib: before.residentKib, ...result, ...spent(before, after) };
}

function spent(
  before: ProcessUsage,
  after: ProcessUsage,
): Pick<ExecSample, 'cpuUserMs' | 'cpuSystemMs' | 'peakKib'> {
  return {
    cpuUserMs: after.userMs - before.userMs,
    cpuSystemMs: after.systemMs - before.systemMs,
    peakKib: after.peakKib,
  };
}

function keep(
  sample: Sample,
  { name }: UpgradeCase,
  row: (Row & { readonly samples: Sample[] }) | undefined,
  round: number,
  { options }: Bench,
): void {
  if (row === undefined) return;
  row.samples.push(sample);
  options.onSample(name, row.contestant, round, sample);
}
