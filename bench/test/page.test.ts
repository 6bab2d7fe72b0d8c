/** What docs/ shows comes from a run: the page and the picture are what the committed samples say, nothing more and nothing less. */

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { renderPage } from '../report/page.ts';
import { renderPicture } from '../report/picture.ts';
import { publishedFiles } from '../report/published.ts';
import { readResults } from '../report/results.ts';
import { plantedResults } from './planted-results.ts';

const published = publishedFiles(resolve(import.meta.dirname, '../..'));

test('the page and the picture in docs/ are made from the committed samples (mend: npm run bench -- --render)', async () => {
  if (!existsSync(published.json)) {
    assert.ok(!existsSync(published.page), 'a page without samples');
    assert.ok(!existsSync(published.picture), 'a picture without samples');
    return;
  }
  const results = await readResults(published.json);
  assert.equal(await readFile(published.page, 'utf8'), renderPage(results));
  assert.equal(await readFile(published.picture, 'utf8'), renderPicture(results));
});

test('a row that loses and a target that is missed stay on the page', () => {
  const page = renderPage(plantedResults());
  assert.match(
    page,
    /\| GET of 1 KiB \| gateway \| at most 1\.0 of kubectl proxy \| 2\.50 \| \*\*missed\*\* \|/,
  );
  assert.match(page, /^\| gateway \| 200 \| 2\.50 \(2\.00 to 3\.00\) \| 500 \|/m);
  assert.match(page, /^\| kubectl proxy \| 75\.0 \| 1 \|/m);
});

test('who did not take part is named with the reason', () => {
  assert.match(renderPage(plantedResults()), /Left out of this run:\n\n- nginx: it is not there/);
});

test('the picture has a bar for each row, a line where the target is, and colours for light and dark', () => {
  const picture = renderPicture(plantedResults());
  assert.equal(picture.match(/<rect /g)?.length, 2);
  assert.equal(picture.match(/<line class="limit"/g)?.length, 1);
  assert.match(picture, /prefers-color-scheme: dark/);
});
