/**
 * What is soaked: a pool with many identities, in a process of its own so that its memory and its descriptors are nobody else's. Its
 * requests go the ways that a gateway's or an operator's go, a known part of them into errors, and its certificates rotate all the
 * while.
 */

import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { collectGarbage, openSocketInodes } from '@roundhouse/simulators';
import { Endpoint, RoundhouseError, TlsMaterial, TransportPool } from '@roundhouse/transport';
import type { Identity, RequestOptions } from '@roundhouse/transport';
import { parseStatusKib } from '../measure/process-usage.ts';
import { answerQuestions } from '../measure/worker.ts';
import type { SoakCounts, SoakSample } from './results.ts';
import type { SoakPath } from './upstream-program.ts';

export interface SubjectOptions {
  readonly caPem: string;
  /** Each rotation takes the next; there must be two at least. */
  readonly clientCertificates: readonly { readonly certPem: string; readonly keyPem: string }[];
  readonly ports: readonly number[];
  /** Nobody listens there. */
  readonly closedPort: number;
  /** For the test of the test. */
  readonly planted?: PlantedLeak | undefined;
}

/** What is never let go, one with each sample: 64 KiB, or a listening socket. */
export type PlantedLeak = 'memory' | 'sockets';

type Sample = Omit<SoakSample, 'elapsedMs'>;

/** What each worker does in turn, 100 steps a round; the rest are plain reads. */
const workers = 24;
const rotateEvery = 90;

/** Short, so that a look finds nothing open that is not leaked. */
const idleTimeoutMs = 250;
const quietTimeoutMs = 20_000;

class Subject {
  readonly #options: SubjectOptions;
  readonly #pool = new TransportPool({
    profile: 'proxy',
    limits: { idleTimeoutMs, drainTimeoutMs: 2_000, upgradeDrainTimeoutMs: 2_000 },
  });
  readonly #identities: readonly Identity[];
  readonly #down: Identity;
  readonly #counts: { -readonly [Name in keyof SoakCounts]: number } = {
    requests: 0,
    errors: 0,
    rotations: 0,
    upgrades: 0,
  };
  readonly #planted: unknown[] = [];
  #step = 0;

  constructor(options: SubjectOptions) {
    this.#options = options;
    this.#identities = options.ports.map((port, index) =>
      this.#pool.identity(`cluster-${index}`, this.#endpoint(port, index)),
    );
    this.#down = this.#pool.identity('down', this.#endpoint(options.closedPort, 0));
  }

  /** Ends with the last answer, so that nothing is under way afterwards. */
  async run(durationMs: number): Promise<SoakCounts> {
    const until = performance.now() + durationMs;
    const work = async (): Promise<void> => {
      while (performance.now() < until) {
        this.#step += 1;
        await this.#take(this.#step);
      }
    };
    await Promise.all(Array.from({ length: workers }, work));
    return { ...this.#counts };
  }

  /** @throws when something is still open long after the last request */
  async sample(): Promise<Sample> {
    this.#plant();
    const until = performance.now() + quietTimeoutMs;
    while (this.#open() > 0) {
      if (performance.now() > until)
        throw new Error(`${this.#open()} connections are open and nobody uses them`);
      await sleep(idleTimeoutMs / 5);
    }
    await collectGarbage();
    return {
      ...this.#counts,
      residentKib: parseStatusKib(await readFile('/proc/self/status', 'utf8'), 'VmRSS'),
      heapUsedKib: Math.round(process.memoryUsage().heapUsed / 1024),
      handles: process.getActiveResourcesInfo().length,
      sockets: openSocketInodes().size,
      transports: this.#pool.inspect().transports.length,
    };
  }

  /** Resolves when nothing is left open. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  async #take(step: number): Promise<void> {
    if (step % rotateEvery === 0) this.#rotate(step / rotateEvery);
    const identity = this.#identities[step % this.#identities.length]!;
    switch (step % 100) {
      case 7:
        return this.#ask(identity, '/ok', {
          method: 'POST',
          body: 'x'.repeat(500),
          headers: ['content-length', '500'],
        });
      case 13:
        return this.#ask(identity, '/busy', {}, [503]);
      case 29:
        return this.#ask(identity, '/cut', {}, ['ERR_RH_CONNECTION_LOST']);
      case 41:
        // Not a read: those are sent once more.
        return this.#ask(identity, '/reset', { method: 'POST' }, [
          'ERR_RH_CONNECTION_LOST',
          'ERR_RH_CONNECTION_STALE',
        ]);
      case 59:
        return this.#ask(identity, '/silent', { signal: AbortSignal.timeout(5) }, ['ERR_RH_ABORTED']);
      case 61:
        return this.#ask(identity, '/silent', { timeoutMs: 5 }, ['ERR_RH_REQUEST_TIMEOUT']);
      case 73:
        return this.#ask(identity, '/watch', { kind: 'stream', lifetimeMs: 20 }, ['ERR_RH_STREAM_SILENT']);
      case 83:
        return this.#ask(this.#down, '/ok', {}, ['ERR_RH_DIAL_FAILED', 'ERR_RH_ENDPOINT_DOWN']);
      case 97:
        return this.#upgrade(identity);
      default:
        return this.#ask(identity, '/ok');
    }
  }

  /** @param failures the status codes and error codes that are right; default: 200 is */
  async #ask(
    identity: Identity,
    path: SoakPath,
    options: Partial<RequestOptions> = {},
    failures?: readonly (string | number)[],
  ): Promise<void> {
    const outcome = await outcomeOf(identity, { method: 'GET', path, headers: [], ...options });
    if (!(failures ?? [200]).includes(outcome)) {
      throw new Error(`${options.method ?? 'GET'} ${path} of ${identity.name} ended with ${outcome}`);
    }
    this.#counts[failures === undefined ? 'requests' : 'errors'] += 1;
  }

  async #upgrade(identity: Identity): Promise<void> {
    const answer = await identity.upgrade({
      method: 'POST',
      path: '/exec?command=once',
      protocol: 'SPDY/3.1',
      headers: [],
    });
    if (!answer.switched) throw new Error(`an upgrade was answered with ${answer.statusCode}`);
    const { socket } = answer;
    socket.on('error', () => undefined);
    socket.end('once');
    let bytes = 0;
    for await (const chunk of socket) bytes += (chunk as Buffer).length;
    socket.destroy();
    if (bytes !== 4) throw new Error(`an upgrade gave back ${bytes} of 4 bytes`);
    this.#counts.upgrades += 1;
  }

  #rotate(turn: number): void {
    const index = turn % this.#identities.length;
    const next = Math.floor(turn / this.#identities.length) + index;
    this.#identities[index]!.rotate(this.#endpoint(this.#options.ports[index]!, next));
    this.#counts.rotations += 1;
  }

  #endpoint(port: number, turn: number): Endpoint {
    const { caPem, clientCertificates } = this.#options;
    const { certPem, keyPem } = clientCertificates[turn % clientCertificates.length]!;
    return Endpoint.from({
      url: `https://127.0.0.1:${port}`,
      material: TlsMaterial.fromPem({ ca: caPem, cert: certPem, key: keyPem }),
    });
  }

  #open(): number {
    return this.#pool
      .inspect()
      .transports.map(
        ({ connections: { opening, idle, active, draining }, upgrades }) =>
          opening + idle + active + draining + upgrades,
      )
      .reduce((sum, open) => sum + open, 0);
  }

  #plant(): void {
    if (this.#options.planted === 'memory') this.#planted.push(Buffer.alloc(64 * 1024, 1));
    if (this.#options.planted === 'sockets') this.#planted.push(createServer().listen(0, '127.0.0.1'));
  }
}

function outcomeOf(identity: Identity, options: RequestOptions): Promise<string | number> {
  return new Promise((resolve) => {
    let status = 0;
    identity.dispatch(options, {
      onRequestStart() {},
      onResponseStart(_controller, statusCode) {
        status = statusCode;
      },
      onResponseData() {},
      onResponseEnd: () => resolve(status),
      onResponseError: (_controller, error) =>
        resolve(RoundhouseError.is(error) ? error.code : `${error.name}: ${error.message}`),
    });
  });
}

function subjectHandlers() {
  let subject: Subject | undefined;
  const present = (): Subject => {
    if (subject === undefined) throw new Error('it was not opened');
    return subject;
  };
  return {
    open(options: SubjectOptions): void {
      subject = new Subject(options);
    },
    async close(): Promise<void> {
      await present().close();
    },
    run: (durationMs: number): Promise<SoakCounts> => present().run(durationMs),
    sample: (): Promise<Sample> => present().sample(),
  };
}

export type SoakSubjectHandlers = ReturnType<typeof subjectHandlers>;

if (import.meta.main) answerQuestions(subjectHandlers());
