import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { inspect } from 'node:util';
import { ManualClock, until } from '@roundhouse/simulators';
import {
  GivenCredential,
  KubernetesError,
  PresentCredential,
  TokenFile,
  endOfToken,
} from '../../src/index.ts';
import type { CredentialOutcome } from '../../src/index.ts';
import { openPluginFolder } from '../rig/plugin-folder.ts';

function jwt(claims: unknown): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${part({ alg: 'RS256' })}.${part(claims)}.c2lnbmF0dXJl`;
}

async function openFile(t: TestContext, content: string) {
  const folder = await openPluginFolder(t);
  const clock = new ManualClock();
  const outcomes: CredentialOutcome[] = [];
  const path = folder.write('token', content);
  const file = await TokenFile.open({ path, clock, onOutcome: (outcome) => outcomes.push(outcome) });
  t.after(() => file[Symbol.asyncDispose]());
  const replace = (text: string): void => renameSync(folder.write('token.new', text), path);
  return { file, path, folder, clock, outcomes, replace };
}

suite('a token file', () => {
  test('BB-20: is read again within its interval of 60 s, and costs nothing in between', async (t) => {
    const { file, clock, outcomes, replace } = await openFile(t, 't0\n');
    assert.equal(file.present().authorization, 'Bearer t0');
    replace('t1\n');
    clock.advance(60_000);
    await until(() => file.present().authorization === 'Bearer t1', 'the new token');
    assert.deepEqual(outcomes, [{ result: 'changed', credential: file.present() }]);
    replace('t1');
    clock.advance(60_000);
    await file.renew(file.present());
    assert.deepEqual(
      outcomes.map(({ result }) => result),
      ['changed', 'changed'],
      'another content',
    );
  });

  test('BB-20: is read at once when a cluster has refused what it held, and no more than once a second', async (t) => {
    const { file, clock, replace } = await openFile(t, 't0');
    const refused = file.present();
    replace('t1');
    await Promise.all(Array.from({ length: 100 }, () => file.renew(refused)));
    assert.equal((await file.get()).authorization, 'Bearer t1');
    replace('t2');
    await file.renew(refused);
    assert.equal(file.present().authorization, 'Bearer t1', 'there is another one than was refused');
    await file.renew(file.present());
    assert.equal(file.present().authorization, 'Bearer t1', 'too soon');
    clock.advance(1_000);
    await file.renew(file.present());
    assert.equal(file.present().authorization, 'Bearer t2');
  });

  test('keeps the last good one, and tells of each bad content once', async (t) => {
    const { file, path, clock, outcomes, replace } = await openFile(t, 't0');
    for (const [change, words] of [
      [() => replace(''), /it is empty/],
      [() => replace('planted-secret\r\nX: y'), /characters that a token cannot have/],
      [() => rmSync(path), /it cannot be read \(ENOENT\)/],
      [() => mkdirSync(path), /it cannot be read \(ERR_NOT_A_FILE\)/],
    ] as const) {
      const { length } = outcomes;
      change();
      for (let look = 0; look < 3; look += 1) {
        clock.advance(60_000);
        await file.renew(file.present());
      }
      assert.equal(file.present().authorization, 'Bearer t0');
      assert.equal(file.error?.code, 'ERR_RH_TOKEN_FILE_UNUSABLE');
      assert.match(file.error.message, words);
      assert.equal(outcomes.length, length + 1);
      assert.ok(!inspect(outcomes, { depth: 9 }).includes('planted-secret'));
    }
    rmSync(path, { recursive: true });
    replace('t1');
    clock.advance(1_000);
    await file.renew(file.present());
    assert.equal(file.present().authorization, 'Bearer t1');
    assert.equal(file.error, undefined);
  });

  test('that cannot be used at the start is an error that quotes nothing of it', async (t) => {
    const folder = await openPluginFolder(t);
    for (const path of [`${folder.path}/none`, folder.write('bad', 'planted secret'), folder.path]) {
      await assert.rejects(TokenFile.open({ path }), (error) => {
        assert.ok(error instanceof KubernetesError);
        assert.equal(error.code, 'ERR_RH_TOKEN_FILE_UNUSABLE');
        assert.ok(!error.message.includes('planted secret'));
        return true;
      });
    }
  });

  test('leaves nothing behind', async (t) => {
    const { file, clock } = await openFile(t, 't0');
    await file[Symbol.asyncDispose]();
    assert.equal(clock.pending, 0);
  });
});

suite('the end of a token', () => {
  test('is a hint: what should be over is shown all the same, since clocks differ', async (t) => {
    const { file, clock } = await openFile(t, jwt({ exp: Date.UTC(2026, 0, 1) / 1000 + 60 }));
    assert.equal(file.expiresAt?.toISOString(), '2026-01-01T00:01:00.000Z');
    clock.advance(3_600_000);
    assert.match(file.present().authorization ?? '', /^Bearer ey/);
  });

  test('is not known of what is no JWT', () => {
    for (const token of [
      'abc',
      'a.b',
      'a.b.c',
      'a.b.c.d',
      jwt(5),
      jwt(null),
      jwt({}),
      jwt({ exp: '5' }),
      jwt({ exp: 1e99 }),
    ]) {
      assert.equal(endOfToken(token), undefined);
    }
    assert.equal(endOfToken(jwt({ exp: 60 }))?.toISOString(), '1970-01-01T00:01:00.000Z');
  });
});

test('a given credential has whoever gives it look again when it was refused, and only then', async () => {
  const token = (text: string): PresentCredential => new PresentCredential({ token: text });
  let looks = 0;
  const given = new GivenCredential(token('t0'), async () => {
    looks += 1;
    given.give(token('t1'));
  });
  const refused = await given.get();
  await given.renew(token('another'));
  assert.equal(looks, 0);
  await given.renew(refused);
  assert.equal(looks, 1);
  assert.equal(given.present().authorization, 'Bearer t1');
  const failing = new GivenCredential(token('t0'), async () => {
    throw new Error('cannot be read');
  });
  await failing.renew(failing.present());
  assert.equal(failing.present().authorization, 'Bearer t0');
});
