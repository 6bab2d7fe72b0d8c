/** One soak: endpoints in a process of theirs, the pool in another, and a look at it after each slice of the time. */

import { join } from 'node:path';
import { CertificateAuthority } from '@roundhouse/simulators';
import { freePort } from '../measure/child-program.ts';
import { commitOf, machineFacts } from '../measure/machine-facts.ts';
import { Worker } from '../measure/worker.ts';
import type { SoakResults, SoakSample } from './results.ts';
import type { PlantedLeak, SoakSubjectHandlers } from './subject-program.ts';
import type { SoakUpstreamHandlers } from './upstream-program.ts';

export interface SoakOptions {
  readonly minutes: number;
  readonly endpoints: number;
  /** Ends it: the run fails as soon as it can, and takes everything with it that it has started. */
  readonly signal: AbortSignal;
  readonly planted?: PlantedLeak | undefined;
  /** @param share of the time that is over, 0 to 1 */
  readonly onSample: (sample: SoakSample, share: number) => void;
}

/** Enough points for a line, and few enough that most of the time is load. */
const slices = 120;
/** A ring: each endpoint is at another place of it, so that neighbours never have the same certificate. */
const clientCertificates = 64;

/** @throws AbortError, and whatever a subject says of an answer that was not the one it must be */
export async function runSoak(options: SoakOptions): Promise<SoakResults> {
  const { minutes, endpoints, signal, planted, onSample } = options;
  const startedAt = new Date().toISOString();
  const machine = machineFacts();
  const pki = await issueAll();
  const { caPem } = pki;
  signal.throwIfAborted();
  await using upstream = new Worker<SoakUpstreamHandlers>(join(import.meta.dirname, 'upstream-program.ts'));
  await using subject = new Worker<SoakSubjectHandlers>(join(import.meta.dirname, 'subject-program.ts'));
  const end = (): void =>
    void Promise.all([subject, upstream].map((worker) => worker[Symbol.asyncDispose]()));
  signal.addEventListener('abort', end, { once: true });
  try {
    const ports = await upstream.ask('listen', { caPem, ...pki.server, endpoints });
    await subject.ask('open', {
      caPem,
      clientCertificates: pki.clients,
      ports,
      closedPort: await freePort(),
      planted,
    });
    const samples: SoakSample[] = [];
    const began = performance.now();
    const totalMs = minutes * 60_000;
    while (performance.now() - began < totalMs) {
      const elapsed = performance.now() - began;
      await subject.ask('run', Math.min(totalMs / slices, totalMs - elapsed));
      const sample = {
        elapsedMs: Math.round(performance.now() - began),
        ...(await subject.ask('sample', undefined)),
      };
      samples.push(sample);
      onSample(sample, Math.min(sample.elapsedMs / totalMs, 1));
    }
    await subject.ask('close', undefined);
    return {
      schemaVersion: 1,
      startedAt,
      commit: await commitOf(import.meta.dirname),
      machine,
      versions: { Node: process.version },
      minutes,
      endpoints,
      samples,
    };
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
  }
}

async function issueAll() {
  const authority = await CertificateAuthority.create();
  const server = await authority.issue({
    commonName: 'localhost',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const clients = await Promise.all(
    Array.from({ length: clientCertificates }, (_, index) =>
      authority.issue({ commonName: `client-${index}`, usage: 'client' }),
    ),
  );
  const pairOf = ({ certPem, keyPem }: typeof server) => ({ certPem, keyPem });
  return { caPem: authority.certificatePem, server: pairOf(server), clients: clients.map(pairOf) };
}
