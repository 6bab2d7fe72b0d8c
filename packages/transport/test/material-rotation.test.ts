/** An identity whose material changes by itself: nobody has to ask, nothing fails, and nothing of the old stays longer than it may. */

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CertificateAuthority, ManualClock } from '@roundhouse/simulators';
import type { HttpProtocol } from '@roundhouse/simulators';
import { MaterialSource, RoundhouseError, TransportPool } from '@roundhouse/transport';
import type { Identity } from '@roundhouse/transport';
import { Call } from './rig/call.ts';
import { CertificateServer } from './rig/certificate-server.ts';
import { MaterialFolder } from './rig/material-folder.ts';
import type { Pair } from './rig/material-folder.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { rotateOften } from './rig/many-rotations.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

let authority: CertificateAuthority;
let serving: Pair;
let [old, renewed]: Pair[] = [];

before(async () => {
  authority = await CertificateAuthority.create();
  serving = await authority.issue({ commonName: 'server', ipAddresses: ['127.0.0.1'], usage: 'server' });
  [old, renewed] = await Promise.all(
    ['old', 'renewed'].map((commonName) => authority.issue({ commonName, usage: 'client' })),
  );
});

/** Asks so often until it is told to end; the outcome of each. */
class Load implements AsyncDisposable {
  readonly outcomes = new Map<string, number>();
  readonly #ended = new AbortController();
  readonly #calls = new Set<Promise<void>>();
  readonly #asking: Promise<void>;

  constructor(identity: Identity, perSecond: number) {
    this.#asking = this.#ask(identity, perSecond);
  }

  async #ask(identity: Identity, perSecond: number): Promise<void> {
    const startedAt = performance.now();
    for (let sent = 0; !this.#ended.signal.aborted; sent += 1) {
      const call = Call.start(identity);
      const counted = call.ended.then(() => {
        const outcome = call.code ?? (call.status === 200 ? call.body : String(call.status));
        this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
        this.#calls.delete(counted);
      });
      this.#calls.add(counted);
      // A machine that was busy catches up, so that the rate is that in the end.
      const ahead = startedAt + ((sent + 1) * 1_000) / perSecond - performance.now();
      if (ahead > 0) await sleep(ahead);
    }
  }

  async end(): Promise<ReadonlyMap<string, number>> {
    this.#ended.abort();
    await this.#asking;
    await Promise.all(this.#calls);
    return this.outcomes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
  }
}

describe('a rotation by itself', () => {
  for (const protocols of [['http/1.1'], ['h2', 'http/1.1']] as const satisfies (readonly HttpProtocol[])[]) {
    test(`W4, BB-14: ${protocols.join(' and ')}: under 200 requests a second, with the old certificate refused a second later, none fails`, async (t) => {
      const folder = await MaterialFolder.create(t);
      await folder.write({ ca: authority.certificatePem, pair: old! });
      await using server = await CertificateServer.listen(authority, serving, protocols);
      await using pool = new TransportPool({ profile: 'proxy', limits: { drainTimeoutMs: 60_000 } });
      const identity = pool.identity('cluster', {
        url: server.url,
        material: MaterialSource.fromFiles(folder.files),
        alpn: protocols.length > 1 ? 'by-kind' : 'http/1.1',
      });
      const watches = [1, 2, 3].map(() => Call.start(identity, { path: '/watch', kind: 'stream' }));
      await Promise.all(watches.map((watch) => watch.head));
      const sessions = await Promise.all(
        [1, 2].map(() =>
          identity.upgrade({ method: 'POST', path: '/exec', protocol: 'SPDY/3.1', headers: [] }),
        ),
      );
      // Ten idle ones.
      await Promise.all(Array.from({ length: 10 }, () => Call.text(identity)));
      await using load = new Load(identity, 200);
      await until(() => (load.outcomes.get('old') ?? 0) > 20, 'the load runs');
      await folder.write({ pair: renewed! });
      await until(() => load.outcomes.has('renewed'), 'the new one is used', 2_000);
      await until(() => server.open('old').idle === 0, 'no idle one of the old is left');
      await sleep(1_000);
      server.refused.add('old');
      const renewedSoFar = load.outcomes.get('renewed') ?? 0;
      await until(
        () => (load.outcomes.get('renewed') ?? 0) >= renewedSoFar + 200,
        'the load goes on',
        10_000,
      );
      const outcomes = await load.end();
      assert.deepEqual([...outcomes.keys()].toSorted(), ['old', 'renewed']);
      assert.equal(identity.generation, 2);
      // What was under way goes on.
      assert.ok(watches.every((watch) => !watch.settled));
      assert.ok(sessions.every((answer) => answer.switched && !answer.socket.destroyed));
      const shown = pool.inspect().transports.map(({ state, identities, generations }) => ({
        state,
        identities: [...new Set(identities)],
        generations: [...new Set(generations)],
      }));
      assert.deepEqual(shown, [
        { state: 'open', identities: ['cluster'], generations: [2] },
        { state: 'draining', identities: ['cluster'], generations: [1] },
      ]);
      await pool.destroy();
    });
  }

  test('BB-15: a CA that is replaced through a bundle of both costs no request, though the server changes in the middle', async (t) => {
    const folder = await MaterialFolder.create(t);
    const second = await CertificateAuthority.create({ name: 'second' });
    const secondServing = await second.issue({
      commonName: 'server',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
    });
    await folder.write({ ca: authority.certificatePem });
    await using server = await CertificateServer.listen(authority, serving);
    await using pool = new TransportPool({ profile: 'proxy' });
    const identity = pool.identity('cluster', {
      url: server.url,
      material: MaterialSource.fromFiles({ caFile: folder.caFile }),
      alpn: 'by-kind',
    });
    await using load = new Load(identity, 100);
    await until(() => load.outcomes.size > 0, 'the load runs');
    await folder.replace(folder.caFile, authority.certificatePem + second.certificatePem);
    await until(() => identity.generation === 2, 'the bundle is in use');
    server.server.replaceTls({ ...secondServing, clientCaPem: authority.certificatePem });
    server.server.closeIdle();
    const accepted = server.server.accepted;
    await until(() => server.server.accepted > accepted, 'somebody comes to the new certificate');
    await folder.replace(folder.caFile, second.certificatePem);
    await until(() => identity.generation === 3, 'the new CA alone is in use');
    server.server.closeIdle();
    const asked = load.outcomes.get('nobody') ?? 0;
    await until(() => (load.outcomes.get('nobody') ?? 0) > asked + 10, 'the load goes on');
    assert.deepEqual([...(await load.end()).keys()], ['nobody']);
    await pool.destroy();
  });

  test('W7, BB-15: a file that turns bad touches no connection, and coming back is no rotation', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.write({ ca: authority.certificatePem, pair: old! });
    await using server = await CertificateServer.listen(authority, serving, ['http/1.1']);
    const source = MaterialSource.fromFiles(folder.files, { intervalMs: 3_600_000 });
    await using look = source.follow();
    await using pool = new TransportPool();
    const identity = pool.identity('cluster', { url: server.url, material: source });
    await Call.text(identity);
    for (const ca of ['', 'no PEM', authority.certificatePem]) {
      await folder.replace(folder.caFile, ca);
      await look.look();
      assert.equal(await Call.text(identity), 'old');
    }
    assert.deepEqual([server.server.accepted, identity.generation], [1, 1]);
  });
});

describe('material that is not there', () => {
  test('G13: fails every request with its reason, asks once for all of them, and is mended by the next good file', async (t) => {
    const folder = await MaterialFolder.create(t);
    await using server = await CertificateServer.listen(authority, serving);
    await using pool = new TransportPool();
    const identity = pool.identity('cluster', {
      url: server.url,
      material: MaterialSource.fromFiles(folder.files, { intervalMs: 60_000 }),
    });
    const codes = await Promise.all(Array.from({ length: 100 }, () => Call.code(identity)));
    assert.deepEqual([...new Set(codes)], ['ERR_RH_MATERIAL_UNAVAILABLE']);
    const upgrade = identity.upgrade({ method: 'POST', path: '/', protocol: 'SPDY/3.1', headers: [] });
    await assert.rejects(
      upgrade,
      (error) => RoundhouseError.is(error) && error.code === 'ERR_RH_MATERIAL_UNAVAILABLE',
    );
    assert.equal(server.server.accepted, 0);
    await folder.write({ ca: authority.certificatePem, pair: old! });
    let last: string | undefined;
    const limit = performance.now() + 5_000;
    do {
      last = await Call.code(identity);
      await turns();
    } while (last !== undefined && performance.now() < limit);
    assert.equal(last, undefined);
    assert.equal(identity.generation, 1);
  });

  test('what is wrong with the rest of the endpoint shows at once', () => {
    const pool = new TransportPool();
    const material = MaterialSource.pushed();
    assert.throws(
      () => pool.identity('cluster', { url: 'https://host/path', material }),
      /ERR_RH_ENDPOINT_INVALID/,
    );
  });
});

test('a rotation from one source to another leaves the first, and the end of the pool leaves the second', async (t) => {
  const clock = new ManualClock();
  const [first, second] = [await MaterialFolder.create(t), await MaterialFolder.create(t)];
  await first.write({ ca: authority.certificatePem, pair: old! });
  await second.write({ ca: authority.certificatePem, pair: renewed! });
  await using server = await CertificateServer.listen(authority, serving);
  const pool = new TransportPool({ clock });
  const [from, to] = [first, second].map((folder) => MaterialSource.fromFiles(folder.files, { clock }));
  const identity = pool.identity('cluster', { url: server.url, material: from! });
  assert.equal(await Call.text(identity), 'old');
  const held = await watches();
  identity.rotate({ url: server.url, material: to! });
  assert.equal(await Call.text(identity), 'renewed');
  assert.equal(identity.generation, 2);
  // The same source with another address is followed without a break.
  identity.rotate({
    url: server.url.replace('127.0.0.1', 'localhost'),
    serverName: '127.0.0.1',
    material: to!,
  });
  assert.equal(await Call.text(identity), 'renewed');
  await until(() => clock.pending < 4, 'only one is followed');
  assert.equal(await watches(), held);
  await pool.close();
  assert.equal(await watches(), 0);
  assert.equal(clock.pending, 0);
});

test('BB-05: a certificate that is replaced again and again leaves one transport for each endpoint', async () => {
  await rotateOften({ endpoints: 20, rotations: 8 });
});

/** Watches of files that this process holds, as the kernel counts them. */
async function watches(): Promise<number> {
  let count = 0;
  for (const descriptor of await readdir('/proc/self/fdinfo')) {
    const text = await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8').catch(() => '');
    count += text.match(/^inotify wd:/gm)?.length ?? 0;
  }
  return count;
}
