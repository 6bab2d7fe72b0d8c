/** The numbers of our tunnels through the real proxy-server and agent, where the Go client is asked for the same beside them. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import type { Duplex } from 'node:stream';
import path from 'node:path';
import { after, before, suite, test } from 'node:test';
import { promisify } from 'node:util';
import { TunnelDialer } from '@roundhouse/konnectivity';
import type { TunnelDialerOptions } from '@roundhouse/konnectivity';
import { KonnectivityPair, konnectivityPrograms } from './konnectivity-pair.ts';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { runTunnelClient } from './tunnel-client.ts';
import type { TunnelClientResult } from './tunnel-client.ts';
import { getOnce, listenFor, optionsFor, sinkOf, sourceOf } from './tunnel-targets.ts';
import { untilTrue } from './until-true.ts';

const mebibyte = 1024 * 1024;
const bulkBytes = 1024 * mebibyte;
const skip = await whyNoGoPrograms([...konnectivityPrograms, 'tunnel-client']);

interface Run extends TunnelClientResult {
  readonly peakRssBytes: number;
}

/** Our client as a process of its own, as the Go client is one. */
async function runOurs(pair: KonnectivityPair, mode: 'download' | 'upload', target: string): Promise<Run> {
  const { address, files } = pair;
  const args = ['--conditions=@roundhouse/source', path.join(import.meta.dirname, 'tunnel-program.ts')];
  args.push('--proxy', address, '--ca', files.serverCa, '--cert', files.clientCert, '--key', files.clientKey);
  args.push('--target', target, '--mode', mode, '--bytes', String(bulkBytes));
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 120_000 });
  const run: Run = JSON.parse(stdout);
  return run;
}

function rateOf(name: string, { bytes, wallMs, cpuMs }: TunnelClientResult): string {
  const size = bytes / mebibyte;
  return `${name} ${Math.round((size / wallMs) * 1000)} MiB/s with ${(cpuMs / size).toFixed(2)} ms of CPU a MiB`;
}

suite('numbers of tunnels through real konnectivity', { skip: skip ?? false }, () => {
  const resources = new AsyncDisposableStack();
  let pair: KonnectivityPair;
  let tunnels: TunnelDialer;
  /** `host:port` of a server that says hello. */
  let hello: string;

  const openDialer = async (options: Partial<TunnelDialerOptions> = {}): Promise<TunnelDialer> =>
    resources.use(new TunnelDialer({ ...(await optionsFor(pair)), ...options }));

  before(async () => {
    pair = resources.use(await KonnectivityPair.start());
    tunnels = await openDialer();
    hello = await listenFor(
      createHttpServer((_request, response) => response.end('hello')),
      resources,
    );
  });
  after(async () => resources.disposeAsync());

  const untilNothingIsOpen = async (): Promise<void> =>
    untilTrue(
      async () =>
        (await pair.serverMetric('grpc_connections{service_method="Proxy"}')) === 0 &&
        (await pair.serverMetric('pending_backend_dials')) === 0 &&
        (await pair.agentMetric('open_endpoint_connections')) === 0,
      'nothing is open at server and agent',
    );

  test('a thousand requests one by one and two hundred in parallel take one session, and leave nothing', async () => {
    for (let count = 0; count < 1_000; count += 1)
      assert.equal(await getOnce(await tunnels.dial(hello)), 'hello');
    const wide = await openDialer({ limits: { maxDialsPerTarget: 200 } });
    const bodies = await Promise.all(
      Array.from({ length: 200 }, async () => getOnce(await wide.dial(hello))),
    );
    assert.deepEqual([...new Set(bodies)], ['hello']);
    for (const { sessionsOpened, sessionsFailed } of [tunnels.inspect(), wide.inspect()])
      assert.deepEqual([sessionsOpened, sessionsFailed], [1, 0]);
    await untilNothingIsOpen();
  });

  test('a server that speaks first is heard from its first byte to its last', async () => {
    const payload = randomBytes(mebibyte);
    const target = await listenFor(
      createServer((socket) => socket.on('error', () => {}).end(payload)),
      resources,
    );
    for (let count = 0; count < 100; count += 1) {
      const received: Buffer[] = [];
      for await (const chunk of await tunnels.dial(target)) received.push(chunk);
      assert.ok(Buffer.concat(received).equals(payload), `download ${count}`);
    }
    await untilNothingIsOpen();
  });

  test('two thousand live tunnels take the descriptors of their sessions', async () => {
    const target = await listenFor(
      createServer((socket) => socket.on('error', () => {}).resume()),
      resources,
    );
    const wide = await openDialer({ limits: { maxTunnelsPerTarget: 2_000 } });
    const atFirst = (await readdir('/proc/self/fd')).length;
    const open: Duplex[] = [];
    while (open.length < 2_000)
      open.push(...(await Promise.all(Array.from({ length: 50 }, async () => wide.dial(target)))));
    const { sessionsOpened } = wide.inspect();
    // The target is in this process, too, and has a descriptor for each.
    const ours = (await readdir('/proc/self/fd')).length - atFirst - open.length;
    assert.ok(ours <= sessionsOpened + 10, `${ours} descriptors for ${sessionsOpened} sessions`);
    for (const tunnel of open) tunnel.destroy();
    await wide.close();
    await untilNothingIsOpen();
  });

  test('a gigabyte goes both ways in bounded memory, beside the Go client', async (t) => {
    const targets = {
      download: await listenFor(sourceOf(bulkBytes), resources),
      upload: await listenFor(sinkOf(bulkBytes), resources),
    };
    for (const mode of ['download', 'upload'] as const) {
      const go = await runTunnelClient(pair, { target: targets[mode], mode, bytes: bulkBytes });
      const ours = await runOurs(pair, mode, targets[mode]);
      assert.deepEqual([ours.bytes, ours.sha256], [bulkBytes, go.sha256]);
      assert.ok(ours.peakRssBytes < 512 * mebibyte, `${ours.peakRssBytes} bytes at the most`);
      t.diagnostic(`${mode}: ${rateOf('ours', ours)}, ${rateOf('Go', go)}`);
      // As fast is what is measured; a test on a busy machine asks for a quarter.
      assert.ok(ours.wallMs < 4 * go.wallMs);
    }
    await untilNothingIsOpen();
  });

  for (const victim of ['agent', 'server'] as const) {
    test(`when the ${victim} is killed under a hundred tunnels each ends once, and the next are served after its return`, async () => {
      const target = await listenFor(
        createServer((socket) => socket.on('error', () => {}).resume()),
        resources,
      );
      const live = await Promise.all(Array.from({ length: 100 }, async () => tunnels.dial(target)));
      const ends = live.map((tunnel) => {
        const seen: string[] = [];
        for (const event of ['error', 'end', 'close']) tunnel.on(event, () => seen.push(event));
        tunnel.resume();
        return seen;
      });
      await (victim === 'agent' ? pair.killAgent() : pair.killServer());
      await untilTrue(async () => ends.every((seen) => seen.includes('close')), 'all have ended');
      // The server tells of a lost agent as of a clean end: rule 6 of the protocol's description.
      const expected = victim === 'agent' ? 'end,close' : 'error,close';
      assert.deepEqual([...new Set(ends.map(String))], [expected]);
      await (victim === 'agent' ? pair.startAgent() : pair.startServer());
      await untilTrue(async () => pair.isReady(), 'the agent is back', 20_000);
      // 2 s are promised.
      const served = async () => (await tunnels.dial(hello).then(getOnce, () => '')) === 'hello';
      await untilTrue(served, 'a request', 8_000);
    });
  }
});

test(
  'dials by HTTP CONNECT that are given up leave nothing, although the server forgets whom it does not reach',
  { skip: skip ?? false },
  async () => {
    await using resources = new AsyncDisposableStack();
    const pair = resources.use(await KonnectivityPair.start({ mode: 'http-connect', unixSocket: true }));
    const tunnels = resources.use(
      new TunnelDialer({ mode: 'http-connect', servers: [`unix:${pair.socketPath}`] }),
    );
    const target = await listenFor(
      createServer((socket) => socket.on('error', () => {}).resume()),
      resources,
    );
    for (let round = 0; round < 20; round += 1) {
      const abort = new AbortController();
      const dials = Array.from({ length: 50 }, async () => tunnels.dial(target, { signal: abort.signal }));
      setImmediate(() => abort.abort());
      for (const dial of await Promise.allSettled(dials))
        if (dial.status === 'fulfilled') dial.value.destroy();
    }
    await untilTrue(
      async () =>
        (await pair.serverMetric('http_connections')) === 0 &&
        (await pair.serverMetric('pending_backend_dials')) === 0 &&
        (await pair.agentMetric('open_endpoint_connections')) === 0,
      'nothing is open at server and agent',
    );
    const { dialing, open, closing } = tunnels.inspect();
    assert.deepEqual([dialing, open, closing], [0, 0, 0]);
  },
);
