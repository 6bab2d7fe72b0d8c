/** The section about upgrades, in a run that is too short to tell anything but that it works. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { publishedUpgrades } from '../report/published.ts';
import { readResults } from '../report/results.ts';
import { costOf, limitedCost } from '../report/statistics.ts';
import { renderUpgradesPage } from '../report/upgrades-page.ts';
import { plantedUpgrades } from './planted-upgrades.ts';

const repository = resolve(import.meta.dirname, '../..');
const published = publishedUpgrades(repository);

test('the page of upgrades in docs/ is made from the committed samples (mend: npm run bench -- upgrades --render)', async () => {
  if (!existsSync(published.json)) {
    assert.ok(!existsSync(published.page), 'a page without samples');
    return;
  }
  assert.equal(await readFile(published.page, 'utf8'), renderUpgradesPage(await readResults(published.json)));
});

test('a limit is held by the worst round and not by the median one, and one that is missed stays on the page', () => {
  const results = plantedUpgrades();
  const [, slow] = results.cases;
  assert.ok(slow);
  assert.equal(limitedCost(slow, 'gateway'), 40);
  assert.match(
    renderUpgradesPage(results),
    /^\| A slow reader \| gateway \| at most 32 MB more at the peak \| 40\.0 \| \*\*missed\*\* \|$/m,
  );
});

test('memory a session is what came with the sessions, and nothing that was there before', () => {
  const results = plantedUpgrades();
  assert.deepEqual(results.cases[0]?.rows[0]?.samples.map(costOf), [60]);
  assert.match(
    renderUpgradesPage(results),
    /^\| gateway \| 60\.0 \| 1\.50 \(1\.50 to 1\.50\) \| 98 \| 127 \| 146 \| 500 of 500 \|$/m,
  );
});

test('what a slow reader costs is shown without a ratio, since a peer may need next to nothing', () => {
  assert.match(renderUpgradesPage(plantedUpgrades()), /^\| gateway \| 25\.0 \| - \| 4\.0 \| 136 \|$/m);
});

test('a short run passes sessions of both protocols through the gateway, and their answers are checked', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'bench-test-'));
  const kinds = ['execs-spdy', 'output-8-websocket', 'idle-websocket'];
  const args = [
    ...kinds.flatMap((name) => ['--case', name]),
    'upgrades',
    '--quick',
    '--contestant',
    'gateway',
    '--out',
    folder.path,
  ];
  const bench = spawn(
    process.execPath,
    ['--conditions=@roundhouse/source', join(repository, 'bench/main.ts'), ...args],
    {
      // Without kubectl nothing has to be fetched; in CI a missing one would be an error.
      env: { ...process.env, ROUNDHOUSE_KUBECTL: '/nowhere/kubectl', CI: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  );
  let said = '';
  bench.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const [code] = await once(bench, 'close');
  assert.equal(code, 0, said);
  const { cases } = await readResults(join(folder.path, 'upgrades.json'));
  assert.deepEqual(
    cases.map(({ name }) => name),
    kinds,
  );
  for (const sample of cases.flatMap(({ rows }) => rows.flatMap(({ samples }) => samples))) {
    if (sample.kind === 'idle') assert.equal(sample.delivered, 25);
    if (sample.kind === 'execs') assert.ok(sample.sessions > 0);
    if (sample.kind === 'output') assert.ok(sample.bytes >= 12_800_000);
  }
});
