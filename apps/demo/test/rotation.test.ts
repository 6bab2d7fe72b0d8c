import assert from 'node:assert/strict';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { getJson } from './demo-client.ts';
import { ExecSession } from './exec-session.ts';
import { openFolder, startDemo } from './running-demo.ts';

/** As `roundhouse` reads it. */
async function admin<Answer>(adminUrl: string, path: string): Promise<Answer> {
  return (await (await fetch(`${adminUrl}${path}`)).json()) as Answer;
}

interface Transports {
  readonly transports: readonly {
    readonly identities: string[];
    readonly generations: number[];
    readonly state: string;
  }[];
}

interface Clusters {
  readonly clusters: readonly {
    readonly name: string;
    readonly state: string;
    readonly generation: number;
    readonly lastError: { readonly code: string } | null;
  }[];
}

suite('a certificate of the demo that is replaced on disk', () => {
  test('is used by new requests; a shell lives on until its drain limit; both generations are shown, then one; a broken file changes the status alone', async () => {
    await using folder = await openFolder();
    const drainSeconds = 3;
    await using demo = await startDemo(folder.path, '--session-drain-seconds', String(drainSeconds));
    const generations = async (): Promise<string[]> =>
      (await admin<Transports>(demo.adminUrl, '/debug/transports')).transports
        .filter(({ identities }) => identities.includes('beta'))
        .map(({ state, generations: shown }) => `${state} ${shown.join()}`)
        .toSorted();
    const beta = async () => {
      const { clusters } = await admin<Clusters>(demo.adminUrl, '/debug/clusters');
      const found = clusters.find(({ name }) => name === 'beta');
      assert.ok(found);
      return found;
    };
    const pods = async () => getJson(folder.path, 'beta', '/api/v1/namespaces/default/pods');
    const running = async () => (await pods()).body.items?.find(({ status }) => status?.phase === 'Running');
    while ((await running()) === undefined) await sleep(50);
    using shell = await ExecSession.open(folder.path, 'beta', (await running())?.metadata.name ?? '');
    await shell.echoes('one');

    await copyFile(join(folder.path, 'beta.2.crt'), join(folder.path, 'beta.crt'));
    await copyFile(join(folder.path, 'beta.2.key'), join(folder.path, 'beta.key'));
    while ((await beta()).generation === 1) await sleep(20);
    const replacedAt = performance.now();
    assert.equal((await pods()).status, 200);
    await shell.echoes('two');
    assert.deepEqual(await generations(), ['draining 1', 'open 2']);
    while (!shell.closed) await sleep(20);
    const drainedMs = performance.now() - replacedAt;
    // The last quarter of the limit is for not cutting all at once.
    assert.ok(drainedMs > drainSeconds * 600 && drainedMs < drainSeconds * 4_000, `${drainedMs} ms`);
    while ((await generations()).length > 1) await sleep(20);
    assert.deepEqual(await generations(), ['open 2']);

    await writeFile(join(folder.path, 'beta.crt'), 'broken\n');
    while ((await beta()).state !== 'stale') await sleep(20);
    assert.equal((await beta()).lastError?.code, 'ERR_RH_MATERIAL_INVALID');
    assert.equal((await pods()).status, 200);
    assert.equal((await beta()).generation, 2);
    assert.deepEqual(await generations(), ['open 2']);
    assert.match(demo.output(), /cp beta\.2\.crt beta\.crt && cp beta\.2\.key beta\.key/);
  });
});
