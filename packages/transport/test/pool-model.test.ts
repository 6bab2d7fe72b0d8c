/**
 * Random walks through a pool: requests, aborts, rotations, removals, pauses, faults of the server and of the way to it, in
 * any order. What must hold is said once, below; a walk that breaks it is printed with its seed.
 */

import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { test } from 'node:test';
import fc from 'fast-check';
import { CertificateAuthority, RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TlsMaterial, TransportPool, directDialer } from '@roundhouse/transport';
import type { AlpnPolicy, ConnectionEvent, Identity } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { turns } from './rig/until.ts';

endsWithNothingOpen();

// Only over TLS is there anything to choose from.
const authority = await CertificateAuthority.create();
const certificate = await authority.issue({ commonName: 'x', ipAddresses: ['127.0.0.1'], usage: 'server' });
const material = TlsMaterial.fromPem({ ca: authority.certificatePem });

const limits = {
  maxConnectionsPerHost: 2,
  maxStreamsPerHost: 3,
  maxIdlePerHost: 2,
  maxIdle: 3,
  maxWaitingPerHost: 4,
  maxIdleTransports: 2,
  maxTransports: 4,
  requestTimeoutMs: 2_000,
  drainTimeoutMs: 30,
  breakerThreshold: 2,
  breakerRestMs: 2,
  breakerMaxRestMs: 10,
};
const variants = 3;
const names = [0, 1, 2];

interface Model {
  /** Which variant of the endpoint each identity points at; undefined: removed. */
  readonly pointsAt: (number | undefined)[];
}

class Real implements AsyncDisposable {
  readonly calls: Call[] = [];
  readonly identities: Identity[];
  readonly pool = new TransportPool({ limits });
  readonly server: RecordingServer;
  /** Whether dials fail. */
  down = false;
  readonly #alpn: AlpnPolicy;
  /** Connections that were opened and not closed yet. */
  #opened = 0;
  readonly #onConnection = (message: unknown): void => {
    const { event, origin } = message as ConnectionEvent;
    if (origin === this.server.url) {
      this.#opened += event === 'opened' ? 1 : -1;
    }
  };

  private constructor(server: RecordingServer, alpn: AlpnPolicy) {
    subscribe('roundhouse:connection', this.#onConnection);
    this.server = server;
    this.#alpn = alpn;
    this.identities = names.map((name) => this.identity(name));
  }

  static async open(alpn: AlpnPolicy): Promise<Real> {
    const server = await RecordingServer.listen({
      protocols: alpn === 'by-kind' ? ['h2', 'http/1.1'] : alpn === 'h2' ? ['h2'] : ['http/1.1'],
      ...(alpn === 'by-kind' && { tls: certificate }),
      maxConcurrentStreams: 3,
      handle: async (exchange) => {
        const { path } = exchange.request;
        if (path === '/reset') {
          exchange.reset();
        } else if (path === '/cut') {
          await exchange.writeHead(200);
          await exchange.write('half');
          exchange.connection.reset();
        } else if (path === '/watch') {
          await exchange.writeHead(200);
          await exchange.write('event');
        } else if (path === '/large') {
          await exchange.respond({ body: Buffer.alloc(300_000) });
        } else {
          await exchange.respond({ body: 'ok' });
        }
      },
    });
    return new Real(server, alpn);
  }

  endpoint(variant: number): Endpoint {
    return Endpoint.from({
      url: this.server.url,
      alpn: this.#alpn,
      ...(this.#alpn === 'by-kind' && { material }),
      dialer: {
        ...directDialer,
        id: String(variant),
        dial: (target, options) =>
          this.down ? Promise.reject(new Error('down')) : directDialer.dial(target, options),
      },
    });
  }

  identity(variant: number): Identity {
    return this.pool.identity(`identity ${variant}`, this.endpoint(variant % variants));
  }

  call(name: number, options: Parameters<typeof Call.start>[1]): void {
    this.calls.push(Call.start(this.identities[name]!, options));
  }

  /** What holds at any time. */
  check(): void {
    const { transports, totals } = this.pool.inspect();
    for (const { connections, waiting, streams, requests, state } of transports) {
      if (state === 'open') {
        const most = limits.maxConnectionsPerHost + limits.maxStreamsPerHost;
        assert.ok(
          connections.opening + connections.idle + connections.active <= most,
          JSON.stringify(connections),
        );
        assert.ok(connections.idle <= limits.maxIdlePerHost, JSON.stringify(connections));
      }
      assert.ok(streams <= limits.maxStreamsPerHost && streams >= 0, `${streams} streams`);
      assert.ok(requests >= 0 && waiting >= 0 && waiting <= requests + streams, `${waiting} waiting`);
    }
    assert.ok(totals.transports <= limits.maxTransports);
    assert.ok(totals.idleConnections <= limits.maxIdle);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.pool.close();
      // What has come whole waits for readers that stand still.
      for (const call of this.calls) {
        if (!call.settled) {
          call.controller.resume();
        }
      }
      // A second ending would have thrown in `Call`; what is asked here is the first.
      const unsettled = this.calls.filter((call) => !call.settled);
      assert.deepEqual(
        unsettled.map((call) => call.events),
        [],
      );
      assert.deepEqual(this.pool.inspect().transports, []);
      assert.equal(this.#opened, 0);
    } finally {
      unsubscribe('roundhouse:connection', this.#onConnection);
      await this.server[Symbol.asyncDispose]();
    }
  }
}

type Step = fc.AsyncCommand<Model, Real>;

function step(
  words: string,
  run: (real: Real, model: Model) => void | Promise<void>,
  check: (model: Model) => boolean = () => true,
): Step {
  return {
    check: (model) => check(model),
    run: async (model, real) => {
      await run(real, model);
      real.check();
    },
    toString: () => words,
  };
}

const name = fc.integer({ min: 0, max: names.length - 1 });
const path = fc.constantFrom('/', '/', '/large', '/reset', '/cut');
const method = fc.constantFrom('GET', 'POST');

const steps: fc.Arbitrary<Step>[] = [
  fc
    .tuple(name, path, method)
    .map(([who, where, how]) =>
      step(`${how} ${where} by ${who}`, (real) =>
        real.call(who, { path: where, method: how, body: how === 'POST' ? 'x' : null }),
      ),
    ),
  name.map((who) => step(`watch by ${who}`, (real) => real.call(who, { path: '/watch', kind: 'stream' }))),
  name.map((who) =>
    step(`paused /large by ${who}`, (real) =>
      real.call(who, { path: '/large', on: { head: ({ controller }) => controller.pause() } }),
    ),
  ),
  fc
    .tuple(name, fc.constantFrom('start', 'head', 'data'))
    .map(([who, event]) =>
      step(`aborted at ${event} by ${who}`, (real) =>
        real.call(who, { on: { [event]: ({ controller }: Call) => controller.abort(new Error('enough')) } }),
      ),
    ),
  name.map((who) =>
    step(`sends again from within, by ${who}`, (real) =>
      real.call(who, { on: { end: () => real.call(who, {}), error: () => real.call(who, {}) } }),
    ),
  ),
  fc.nat().map((index) =>
    step(`abort #${index}`, (real) => {
      const call = real.calls.filter((each) => !each.settled)[index % Math.max(1, real.calls.length)];
      call?.controller.abort(new Error('enough'));
    }),
  ),
  fc.tuple(name, fc.integer({ min: 0, max: variants - 1 }), fc.boolean()).map(([who, variant, found]) =>
    step(
      `rotate ${who} to ${variant}${found ? ', which has to be found' : ''}`,
      (real, model) => {
        const endpoint = real.endpoint(variant);
        real.identities[who]!.rotate(found ? () => Promise.resolve(endpoint) : endpoint);
        model.pointsAt[who] = variant;
      },
      (model) => model.pointsAt[who] !== undefined,
    ),
  ),
  name.map((who) =>
    step(`remove ${who}, and add it again`, async (real) => {
      await real.identities[who]!.close();
      real.identities[who] = real.identity(who);
    }),
  ),
  fc
    .constantFrom('fin' as const, 'rst' as const)
    .map((how) => step(`the server closes what is idle (${how})`, (real) => real.server.closeIdle(how))),
  fc.constant(step('the server cuts everything', (real) => real.server.destroySockets())),
  fc
    .boolean()
    .map((down) => step(`dials ${down ? 'fail' : 'succeed'} from now on`, (real) => void (real.down = down))),
  fc.constant(step('the server says GOAWAY', (real) => real.server.goaway())),
  fc.integer({ min: 1, max: 8 }).map((count) => step(`${count} turns`, () => turns(count))),
];

for (const alpn of ['http/1.1', 'h2', 'by-kind'] as const) {
  test(`${alpn}: on random walks each exchange ends once, limits hold, and nothing is left`, async () => {
    await fc.assert(
      fc.asyncProperty(fc.commands(steps, { maxCommands: 40, size: 'max' }), async (commands) => {
        await using real = await Real.open(alpn);
        const model: Model = { pointsAt: [...names] };
        await fc.asyncModelRun(() => ({ model, real }), commands);
        await turns(3);
      }),
      { numRuns: 80, seed: 20_260_712, interruptAfterTimeLimit: 5_000, endOnFailure: true },
    );
  });
}
