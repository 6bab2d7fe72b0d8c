/** The example in the README is the file that lies beside it, and does what it says. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { CertificateAuthority, RecordingServer } from '@roundhouse/simulators';

const folder = path.join(import.meta.dirname, '..');
const example = path.join(folder, 'examples', 'fetch.ts');

test('the code in the README is the example', async () => {
  const readme = await readFile(path.join(folder, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code);
  assert.deepEqual(blocks, [await readFile(example, 'utf8')]);
});

test('the example sends three requests over one connection and ends by itself', async () => {
  const authority = await CertificateAuthority.create();
  const certificate = await authority.issue({ commonName: 'api', usage: 'server' });
  await using server = await RecordingServer.listen({ tls: certificate });
  await using place = await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-readme-'));
  const caFile = path.join(place.path, 'ca.crt');
  await writeFile(caFile, authority.certificatePem);
  const args = ['--conditions=@roundhouse/source', example, server.url, caFile];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  assert.equal(stdout, '200 ok\n200 ok\n200 ok\n3 requests, 1 connection\n');
  assert.equal(stderr, '');
  assert.equal(server.accepted, 1);
  assert.deepEqual(
    server.requests.flatMap((request) => request.headerValues('authorization')),
    ['Bearer first', 'Bearer second', 'Bearer third'],
  );
});
