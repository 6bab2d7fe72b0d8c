/** The example in the README is the file that lies beside it, and does what it says. */

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { CertificateAuthority, KubeApiserver } from '@roundhouse/simulators';

const folder = path.join(import.meta.dirname, '..');
const example = path.join(folder, 'examples', 'informer.ts');

test('the code in the README is the example', async () => {
  const readme = await readFile(path.join(folder, 'README.md'), 'utf8');
  const blocks = [...readme.matchAll(/^```ts\n([^]*?)^```$/gm)].map(([, code]) => code);
  assert.deepEqual(blocks, [await readFile(example, 'utf8')]);
});

test('the example sees what it does, over one connection, and ends by itself', async () => {
  const authority = await CertificateAuthority.create();
  const tls = await authority.issue({ commonName: 'api', ipAddresses: ['127.0.0.1'], usage: 'server' });
  const admin = { username: 'admin', groups: ['system:masters'] };
  await using apiserver = await KubeApiserver.listen({
    name: 'alpha',
    tls,
    controllers: false,
    authentication: { tokens: { secret: admin }, anonymous: false },
  });
  await using place = await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-readme-'));
  const kubeconfig = path.join(place.path, 'kubeconfig');
  const ca = Buffer.from(authority.certificatePem).toString('base64');
  await writeFile(
    kubeconfig,
    JSON.stringify({
      clusters: [{ name: 'c', cluster: { server: apiserver.url, 'certificate-authority-data': ca } }],
      users: [{ name: 'u', user: { token: 'secret' } }],
      contexts: [{ name: 'alpha', context: { cluster: 'c', user: 'u' } }],
    }),
  );
  const args = ['--conditions=@roundhouse/source', example, kubeconfig, 'alpha'];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 30_000 });
  assert.equal(stdout, 'added example\nupdated example\ndeleted example\n');
  assert.equal(stderr, '');
  assert.equal(apiserver.accepted, 1);
});
