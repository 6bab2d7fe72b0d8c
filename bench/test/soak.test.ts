/** The soak's own arithmetic against known values, and that it finds a leak that is there. */

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtempDisposable, readFile, readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { suite, test } from 'node:test';
import { renderSoakPage } from '../soak/page.ts';
import { renderSoakPicture } from '../soak/picture.ts';
import { publishedSoak, readSoakResults } from '../soak/results.ts';
import type { SoakSample } from '../soak/results.ts';
import { runSoak } from '../soak/run.ts';
import { fitStraightLine, quantile95 } from '../soak/straight-line.ts';
import { judge, least } from '../soak/verdict.ts';

function near(actual: number, expected: number, most = 1e-3): void {
  assert.ok(
    Math.abs(actual - expected) <= most * Math.max(1, Math.abs(expected)),
    `${actual}, not ${expected}`,
  );
}

/** @param leak what each sample has more than the one before */
function plantedSamples(leak: Partial<Record<'residentKib' | 'handles' | 'sockets', number>>): SoakSample[] {
  return Array.from({ length: 40 }, (_, index) => ({
    elapsedMs: index * 1_000,
    requests: (index + 1) * 50_000,
    errors: (index + 1) * 1_000,
    rotations: (index + 1) * 500,
    upgrades: 0,
    // Warm after a quarter; then it wavers around one value.
    residentKib: 100_000 + Math.min(index, 10) * 5_000 + (index % 3) * 100 + index * (leak.residentKib ?? 0),
    heapUsedKib: 30_000,
    handles: 2 + index * (leak.handles ?? 0),
    sockets: index * (leak.sockets ?? 0),
    transports: 20,
  }));
}

suite('a straight line', () => {
  test('through points on it has no uncertainty', () => {
    const { slope, offset, slopeAtMost } = fitStraightLine([1, 2, 5, 9].map((x) => ({ x, y: 3 * x - 7 })));
    near(slope, 3);
    near(offset, -7);
    near(slopeAtMost, 3);
  });

  test('through Anscombe’s first quartet: slope 0.5001, offset 3.0001, standard error 0.1179', () => {
    const xs = [10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5];
    const ys = [8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68];
    const { slope, offset, slopeAtMost } = fitStraightLine(xs.map((x, index) => ({ x, y: ys[index]! })));
    near(slope, 0.5001);
    near(offset, 3.0001);
    near(slopeAtMost, 0.5001 + 1.8331 * 0.1179);
  });

  test('cannot be laid through two points, nor through points above each other', () => {
    const point = { x: 1, y: 1 };
    assert.throws(() => fitStraightLine([point, { x: 2, y: 2 }]), RangeError);
    assert.throws(() => fitStraightLine([point, point, point]), RangeError);
  });

  // From any table of Student's t, one-sided, 0.95.
  for (const [degrees, value] of [
    [1, 6.3138],
    [3, 2.3534],
    [4, 2.1318],
    [10, 1.8125],
    [30, 1.6973],
    [120, 1.6577],
  ] as const) {
    test(`the 95 % quantile with ${degrees} degrees of freedom is ${value}`, () => {
      near(quantile95(degrees), value, 5e-3);
    });
  }
});

suite('the verdict', () => {
  test('a process that warms up and then keeps its size has held', () => {
    const verdict = judge({ samples: plantedSamples({}) });
    assert.equal(verdict.outcome, 'held');
    assert.deepEqual(verdict.missing, []);
  });

  for (const [name, each] of [
    ['residentKib', 200],
    ['handles', 1],
    ['sockets', 1],
  ] as const) {
    test(`${each} more of ${name} with each sample is a leak, and nothing else is`, () => {
      const verdict = judge({ samples: plantedSamples({ [name]: each }) });
      assert.equal(verdict.outcome, 'leaks');
      assert.deepEqual(
        verdict.findings.filter(({ held }) => !held).map(({ measured }) => measured.name),
        [name],
      );
    });
  }

  test('with too few operations it is none, and says what there was too little of', () => {
    const samples = plantedSamples({}).slice(0, 15);
    const verdict = judge({ samples: samples.map((sample) => ({ ...sample, residentKib: 1 })) });
    assert.equal(verdict.outcome, 'too short');
    assert.deepEqual(verdict.missing, ['750,000 of 1,000,000 requests', '7,500 of 10,000 rotations']);
  });
});

suite('a soak', () => {
  const quick = {
    minutes: 0.1,
    endpoints: 4,
    signal: new AbortController().signal,
    onSample: () => undefined,
  };

  test(
    'leaves no socket open, rotates, and each of its errors is the one it must be',
    { timeout: 120_000 },
    async () => {
      const { samples } = await runSoak(quick);
      const first = samples[0]!;
      const last = samples.at(-1)!;
      assert.ok(
        last.requests > 0 && last.errors > 0 && last.rotations > 0 && last.upgrades > 0,
        JSON.stringify(last),
      );
      assert.equal(last.sockets, first.sockets);
      assert.equal(last.handles, first.handles);
    },
  );

  test('finds sockets that are planted', { timeout: 120_000 }, async () => {
    const { samples } = await runSoak({ ...quick, planted: 'sockets' });
    assert.ok(samples.length > 2);
    assert.equal(samples.at(-1)!.sockets - samples[0]!.sockets, samples.length - 1);
    const { findings } = judge({ samples });
    assert.deepEqual(
      findings
        .filter(({ held, measured }) => !held && measured.name !== 'residentKib')
        .map(({ measured }) => measured.name),
      ['handles', 'sockets'],
    );
  });

  test('that is ended leaves no process and no file', { timeout: 60_000 }, async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'soak-test-'));
    const main = resolve(import.meta.dirname, '../soak/main.ts');
    const marker = join(folder.path, 'out');
    const soak = spawn(
      process.execPath,
      ['--conditions=@roundhouse/source', main, '--minutes', '1', '--endpoints', '2', '--out', marker],
      {
        stdio: ['ignore', 'ignore', 'pipe'],
      },
    );
    const exited = once(soak, 'exit');
    let said = '';
    soak.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
    while (!said.includes(' requests, ')) await once(soak.stderr, 'data');
    const children = (await readFile(`/proc/${soak.pid}/task/${soak.pid}/children`, 'utf8'))
      .trim()
      .split(' ');
    assert.equal(children.length, 2);
    soak.kill('SIGINT');
    assert.deepEqual(await exited, [130, null]);
    assert.deepEqual(
      children.filter((pid) => existsSync(`/proc/${pid}`)),
      [],
    );
    assert.deepEqual(await readdir(folder.path), []);
  });
});

test('the page and the picture in docs/ are made from the committed samples (mend: npm run soak -- --render)', async () => {
  const published = publishedSoak(resolve(import.meta.dirname, '../..'));
  const results = await readSoakResults(published.json);
  assert.equal(await readFile(published.page, 'utf8'), renderSoakPage(results));
  assert.equal(await readFile(published.picture, 'utf8'), renderSoakPicture(results));
  const verdict = judge(results);
  assert.equal(verdict.outcome, 'held');
  assert.ok(results.samples.at(-1)!.requests >= least.requests);
});
