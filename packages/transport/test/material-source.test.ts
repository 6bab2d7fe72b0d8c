/** Material that changes while it is in use: what is noticed, what is no change, and what stays when something cannot be used. */

import assert from 'node:assert/strict';
import { chmod, mkdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CertificateAuthority, ManualClock } from '@roundhouse/simulators';
import { MaterialSource, RoundhouseError } from '@roundhouse/transport';
import type { PemMaterial } from '@roundhouse/transport';
import { MaterialFolder, SeenMaterial } from './rig/material-folder.ts';
import type { Pair } from './rig/material-folder.ts';
import { endsWithNothingOpen } from './rig/open-handles.ts';
import { run } from './rig/programs.ts';
import { turns, until } from './rig/until.ts';

endsWithNothingOpen();

/** No timer helps: events, or a look by hand. */
const byEvents = { intervalMs: 3_600_000 };

let authority: CertificateAuthority;
let other: CertificateAuthority;
const pairs: Pair[] = [];
const pair = (index: number): Pair => pairs[index]!;

before(async () => {
  authority = await CertificateAuthority.create();
  other = await CertificateAuthority.create({ name: 'other' });
  for (let index = 0; index < 4; index += 1) {
    pairs.push(await authority.issue({ commonName: `client ${index}`, usage: 'client' }));
  }
});

describe('material from files', () => {
  test('G15: the first load is no change, and is told of in the status', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.write({ ca: authority.certificatePem, pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.files, byEvents);
    assert.equal(source.material, undefined);
    await using seen = new SeenMaterial(source);
    const material = await seen.follower.ready();
    assert.equal(source.material, material);
    await seen.follower.look();
    assert.deepEqual([seen.changes, seen.bad], [[], []]);
    const { ca, pair: client } = source.status;
    assert.deepEqual([ca?.generation, client?.generation], [1, 1]);
    assert.deepEqual([ca?.expiresAt, client?.expiresAt], [material.caExpiresAt, material.certExpiresAt]);
    assert.ok(client!.validFrom! < client!.expiresAt!);
  });

  test('G16: a change is told once, by an event of the file', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.write({ ca: authority.certificatePem, pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.files, byEvents);
    await using seen = new SeenMaterial(source);
    const first = await seen.follower.ready();
    await folder.replace(folder.caFile, authority.certificatePem + other.certificatePem);
    await seen.until(() => seen.changes.length > 0);
    await seen.follower.look();
    assert.deepEqual(seen.changes, ['ca']);
    assert.notEqual(source.material?.caDigest, first.caDigest);
    assert.equal(source.material?.certDigest, first.certDigest);
    assert.deepEqual([source.status.ca?.generation, source.status.pair?.generation], [2, 1]);
  });

  test('G11: content decides: same size and time of change are seen, a touched file and other words for the same are none', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.write({ ca: authority.certificatePem, pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.files, byEvents);
    await using seen = new SeenMaterial(source);
    await seen.follower.ready();
    const { atime, mtime } = await stat(folder.caFile);
    const words = [
      `# a comment\n${authority.certificatePem}`,
      authority.certificatePem.replaceAll('\n', '\r\n'),
      authority.certificatePem,
    ];
    for (const text of words) {
      await folder.replace(folder.caFile, text);
      await seen.follower.look();
    }
    await utimes(folder.certFile, new Date(), new Date());
    await seen.follower.look();
    assert.deepEqual([seen.changes, seen.bad], [[], []]);
    await folder.replace(folder.caFile, other.certificatePem);
    await utimes(folder.caFile, atime, mtime);
    await seen.follower.look();
    assert.deepEqual(seen.changes, ['ca']);
  });

  test('W8: CA and client pair that change together are one change', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.swap(authority.certificatePem, pair(0));
    const source = MaterialSource.fromFiles(folder.files, byEvents);
    await using seen = new SeenMaterial(source);
    await seen.follower.ready();
    await folder.swap(authority.certificatePem + other.certificatePem, pair(1));
    await seen.until(() => seen.changes.length > 0);
    assert.deepEqual([seen.changes, seen.bad], [['ca+pair'], []]);
  });

  test('W7, G12, G14, BB-15: what cannot be used leaves the last good in use, is told once, and holds up no other part', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.write({ ca: authority.certificatePem, pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.files, byEvents);
    await using seen = new SeenMaterial(source);
    const good = await seen.follower.ready();
    const half = authority.certificatePem.slice(0, authority.certificatePem.length / 2);
    for (const bad of ['', half, authority.certificatePem + half, pair(0).keyPem, 'no PEM at all']) {
      const told = seen.bad.length;
      await folder.replace(folder.caFile, bad);
      await seen.follower.look();
      await seen.follower.look();
      assert.equal(seen.bad.length, told + 1, JSON.stringify(bad.slice(0, 40)));
      assert.equal(source.material, good);
      assert.equal(source.status.ca?.badGenerations, told + 1);
      assert.ok(source.status.ca?.error !== undefined && source.status.ca.errorSince !== undefined);
    }
    assert.deepEqual(seen.changes, []);
    // The pair goes on changing under the bad CA, and the other way round.
    await folder.write({ pair: pair(1) });
    await seen.follower.look();
    assert.equal(seen.changes.at(-1), 'pair');
    assert.equal(source.material?.caDigest, good.caDigest);
    // What was bad was not stored, so coming back is no change.
    const changes = seen.changes.length;
    await folder.replace(folder.caFile, authority.certificatePem);
    await seen.follower.look();
    assert.equal(seen.changes.length, changes);
    assert.equal(source.status.ca?.error, undefined);
    await folder.replace(folder.keyFile, '');
    await folder.replace(folder.caFile, other.certificatePem);
    await seen.follower.look();
    assert.equal(seen.changes.at(-1), 'ca');
    assert.match(seen.bad.at(-1)!, /^pair: ERR_RH_MATERIAL_INVALID/);
  });

  test('BB-15: a directory, a file that may not be read and a missing one are bad content, too', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.write({ ca: authority.certificatePem, pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.files, byEvents);
    await using seen = new SeenMaterial(source);
    const good = await seen.follower.ready();
    await rm(folder.caFile);
    await seen.follower.look();
    await mkdir(folder.caFile);
    await seen.follower.look();
    await rm(folder.caFile, { recursive: true });
    await folder.write({ ca: authority.certificatePem });
    await chmod(folder.caFile, 0);
    await seen.follower.look();
    // Root reads everything.
    const readable = process.getuid?.() === 0 ? 0 : 1;
    assert.ok(
      seen.bad.filter((text) => text.startsWith('ca: ERR_RH_MATERIAL_UNAVAILABLE')).length >= 2 + readable,
    );
    assert.match(seen.bad[0]!, /cannot read the CA bundle .*ca\.crt: ENOENT/);
    assert.equal(source.material, good);
    assert.deepEqual(seen.changes, []);
  });

  test('G13, BB-15: a first load that fails is that reason for whoever asks, once for all, and mended by the next good one', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.write({ ca: '', pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.files, byEvents);
    await using seen = new SeenMaterial(source);
    const invalid = (error: unknown): boolean =>
      RoundhouseError.is(error) &&
      error.code === 'ERR_RH_MATERIAL_INVALID' &&
      /CA bundle/.test(error.message);
    await Promise.all([1, 2, 3].map(() => assert.rejects(seen.follower.ready(), invalid)));
    assert.equal(seen.bad.length, 1);
    await folder.write({ ca: authority.certificatePem });
    await until(() => source.material !== undefined, 'the file is noticed');
    assert.ok((await seen.follower.ready()).certDigest !== undefined);
    assert.deepEqual(seen.changes, []);
  });

  test('BB-16: a mismatched pair is never in use, and the other half is waited for before it is told of', async (t) => {
    const folder = await MaterialFolder.create(t);
    const clock = new ManualClock();
    await folder.write({ pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.pairFiles, { clock, pairGraceMs: 5_000 });
    await using seen = new SeenMaterial(source);
    const first = await seen.follower.ready();
    for (const [earlier, later] of [
      [folder.certFile, folder.keyFile],
      [folder.keyFile, folder.certFile],
    ] as const) {
      const next = earlier === folder.certFile ? pair(1) : pair(2);
      const contentOf = (path: string): string => (path === folder.certFile ? next.certPem : next.keyPem);
      const former = source.material;
      await folder.replace(earlier, contentOf(earlier));
      await seen.follower.look();
      assert.equal(source.material, former);
      assert.match(source.status.pair?.error?.message ?? '', /does not belong/);
      clock.advance(4_999);
      assert.deepEqual(seen.bad, []);
      await folder.replace(later, contentOf(later));
      await seen.follower.look();
      assert.notEqual(source.material, former);
      clock.advance(10_000);
      assert.deepEqual(seen.bad, []);
    }
    assert.deepEqual([seen.changes, source.status.pair?.generation], [['pair', 'pair'], 3]);
    // The key alone, for good.
    await folder.replace(folder.keyFile, pair(0).keyPem);
    await seen.follower.look();
    clock.advance(5_000);
    await seen.follower.look();
    clock.advance(50_000);
    assert.equal(seen.bad.length, 1);
    assert.equal(source.status.pair?.badGenerations, 1);
    await folder.replace(folder.certFile, pair(0).certPem);
    await seen.follower.look();
    assert.equal(source.material?.certDigest, first.certDigest);
  });

  test('BB-16: fifty swaps in a row end on the last one, and none is half of two', async (t) => {
    const folder = await MaterialFolder.create(t);
    await folder.swap(authority.certificatePem, pair(0));
    const source = MaterialSource.fromFiles(folder.files, byEvents);
    await using seen = new SeenMaterial(source);
    await seen.follower.ready();
    for (let round = 1; round <= 50; round += 1) {
      await folder.swap(authority.certificatePem, pair(round % 4));
      await sleep(5);
    }
    await folder.swap(authority.certificatePem, pair(3));
    const last = await lastMaterial(3);
    await until(() => source.material?.certDigest === last, 'the last one is in use');
    await seen.follower.look();
    assert.deepEqual(seen.bad, []);
    assert.equal(source.status.pair?.generation, 1 + seen.changes.length);
  });

  test('BB-17: a change right behind the start is not missed, though no event told of it', async (t) => {
    const wanted = await lastMaterial(1);
    const round = async (index: number): Promise<void> => {
      const folder = await MaterialFolder.create(t);
      await folder.write({ pair: pair(0) });
      const source = MaterialSource.fromFiles(folder.pairFiles, byEvents);
      await using seen = new SeenMaterial(source);
      await turns(index % 12);
      if (index % 5 === 0) {
        // The whole folder, as another inode; its watch is gone with it, and the interval is for that.
        await rm(folder.path, { recursive: true });
        await mkdir(folder.path);
      }
      await folder.write({ pair: pair(1) });
      if (index % 5 === 0) await seen.follower.look();
      await until(() => source.material?.certDigest === wanted, `round ${index}`, 10_000);
    };
    await Promise.all(Array.from({ length: 200 }, (_, index) => round(index)));
  });

  test('G10: files are read once an interval, and not because somebody asks', async (t) => {
    const folder = await MaterialFolder.create(t);
    const clock = new ManualClock();
    await folder.write({ pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.pairFiles, { clock });
    await using seen = new SeenMaterial(source);
    const first = await seen.follower.ready();
    // Without events: the folder is another one now.
    await rm(folder.path, { recursive: true });
    await mkdir(folder.path);
    await turns();
    await writeFile(folder.certFile, pair(1).certPem);
    await writeFile(folder.keyFile, pair(1).keyPem);
    for (let index = 0; index < 100; index += 1) assert.equal(await seen.follower.ready(), first);
    clock.advance(30_000);
    await seen.until(() => seen.changes.length > 0);
    assert.deepEqual(seen.changes, ['pair']);
  });

  test('ends with its last follower, and begins again with the next one', async (t) => {
    const folder = await MaterialFolder.create(t);
    const clock = new ManualClock();
    await folder.write({ pair: pair(0) });
    const source = MaterialSource.fromFiles(folder.pairFiles, { clock });
    const first = new SeenMaterial(source);
    const second = new SeenMaterial(source);
    await first.follower.ready();
    await first[Symbol.asyncDispose]();
    assert.ok(clock.pending > 0);
    await second[Symbol.asyncDispose]();
    await second[Symbol.asyncDispose]();
    assert.equal(clock.pending, 0);
    await folder.write({ pair: pair(1) });
    await using third = new SeenMaterial(source);
    await third.until(() => third.changes.length > 0);
    assert.deepEqual([first.changes, second.changes, third.changes], [[], [], ['pair']]);
  });
});

describe('material from a callback', () => {
  const given = (index: number): PemMaterial => ({
    ca: authority.certificatePem,
    cert: pair(index).certPem,
    key: pair(index).keyPem,
  });

  test('is asked for again after every interval, and equal content is no change', async () => {
    const clock = new ManualClock();
    let index = 0;
    let asked = 0;
    const source = MaterialSource.fromCallback(
      async () => {
        asked += 1;
        return given(index);
      },
      { clock, intervalMs: 60_000 },
    );
    await using seen = new SeenMaterial(source);
    await seen.follower.ready();
    clock.advance(60_000);
    await until(() => asked === 2, 'asked again');
    await turns();
    index = 1;
    clock.advance(60_000);
    await seen.until(() => seen.changes.length > 0);
    assert.deepEqual([seen.changes, seen.bad, asked], [['pair'], [], 3]);
  });

  test('a failure is one for all who wait, is told once, and is tried again soon, then later', async () => {
    const clock = new ManualClock();
    let asked = 0;
    let broken = true;
    const source = MaterialSource.fromCallback(
      async () => {
        asked += 1;
        if (broken) throw new Error('the vault is sealed');
        return given(0);
      },
      { clock },
    );
    await using seen = new SeenMaterial(source);
    await Promise.all(
      [1, 2, 3].map(() =>
        assert.rejects(seen.follower.ready(), /ERR_RH_MATERIAL_UNAVAILABLE.*the vault is sealed/),
      ),
    );
    assert.equal(asked, 1);
    assert.deepEqual(seen.bad, [
      'ca+pair: ERR_RH_MATERIAL_UNAVAILABLE: the callback for TLS material failed: the vault is sealed',
    ]);
    for (const wait of [1_000, 2_000, 4_000]) {
      const former: number = asked;
      clock.advance(wait - 1);
      assert.equal(asked, former);
      clock.advance(1);
      assert.equal(asked, former + 1);
      await turns();
    }
    assert.equal(seen.bad.length, 1);
    broken = false;
    clock.advance(8_000);
    await turns();
    assert.ok((await seen.follower.ready()).certDigest !== undefined);
  });

  test('one that never answers is given up at its limit, and asked again', async () => {
    const clock = new ManualClock();
    const signals: AbortSignal[] = [];
    const source = MaterialSource.fromCallback(
      (signal) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
      { clock, timeoutMs: 3_000 },
    );
    const seen = new SeenMaterial(source);
    const waiting = seen.follower.ready();
    clock.advance(3_000);
    await assert.rejects(waiting, /no answer within 3000 ms/);
    assert.equal(signals[0]?.aborted, true);
    await turns();
    clock.advance(1_000);
    assert.equal(signals.length, 2);
    await seen[Symbol.asyncDispose]();
    assert.equal(signals[1]?.aborted, true);
    assert.equal(clock.pending, 0);
  });

  test('leaves nothing behind of what was asked before, however often', async () => {
    const { stdout, stderr } = await run(`
      import { setImmediate } from 'node:timers/promises';
      import { MaterialSource } from '@roundhouse/transport';

      const signals = [];
      const source = MaterialSource.fromCallback(async (signal) => {
        signals.push(new WeakRef(signal));
        throw new Error('the vault is sealed');
      });
      await using follower = source.follow();
      for (let index = 0; index < 50; index += 1) await follower.look();
      await setImmediate();
      globalThis.gc();
      const kept = signals.filter((signal) => signal.deref() !== undefined).length;
      console.log(JSON.stringify({ asked: signals.length >= 50, few: kept <= 2, kept }));
    `);
    assert.match(stdout, /"asked":true,"few":true/, stderr);
  });

  test('one that throws instead of giving a promise is a failure like another, and the end of the source is quiet', async () => {
    const clock = new ManualClock();
    const ending = new Set<SeenMaterial>();
    const source = MaterialSource.fromCallback(
      () => {
        for (const ended of ending) void ended[Symbol.asyncDispose]();
        throw new Error('the vault is sealed');
      },
      { clock },
    );
    const seen = new SeenMaterial(source);
    await assert.rejects(seen.follower.ready(), /the callback for TLS material failed: the vault is sealed/);
    await seen[Symbol.asyncDispose]();
    // One that ends its source itself before it throws.
    const again = new SeenMaterial(source);
    await turns();
    ending.add(again);
    await again.follower.look();
    // What nobody handles would be told of now, and fail the test.
    await turns();
    assert.equal(clock.pending, 0);
  });

  test('a part that is not given any more is an error: without a CA the public roots would be trusted', async () => {
    const clock = new ManualClock();
    let answer = given(0);
    const source = MaterialSource.fromCallback(async () => answer, { clock });
    await using seen = new SeenMaterial(source);
    const good = await seen.follower.ready();
    answer = { cert: pair(0).certPem, key: pair(0).keyPem };
    await seen.follower.look();
    assert.match(seen.bad[0]!, /^ca: .*gave no CA/);
    assert.equal(source.material, good);
  });
});

describe('material that is pushed', () => {
  test('is in use when each part was pushed, and rotates part by part', async () => {
    const source = MaterialSource.pushed();
    await using seen = new SeenMaterial(source);
    await assert.rejects(
      seen.follower.ready(),
      /ERR_RH_MATERIAL_UNAVAILABLE: no CA bundle and no client certificate/,
    );
    source.push({ cert: pair(0).certPem, key: pair(0).keyPem });
    await assert.rejects(seen.follower.ready(), /no CA bundle was given yet/);
    source.push({ ca: authority.certificatePem });
    const first = await seen.follower.ready();
    source.push({ ca: new Error('the Secret has no ca.crt'), cert: pair(1).certPem, key: pair(1).keyPem });
    assert.deepEqual(seen.changes, ['pair']);
    assert.deepEqual(seen.bad, ['ca: the Secret has no ca.crt']);
    assert.equal(source.material?.caDigest, first.caDigest);
  });

  test('a source without parts is of no material at all', async () => {
    const source = MaterialSource.pushed({ parts: [] });
    await using seen = new SeenMaterial(source);
    assert.equal((await seen.follower.ready()).caDigest, undefined);
  });
});

/** The digest of a pair, as a source has it. */
async function lastMaterial(index: number): Promise<string | undefined> {
  const source = MaterialSource.pushed({ parts: ['pair'] });
  source.push({ cert: pair(index).certPem, key: pair(index).keyPem });
  return source.material?.certDigest;
}
