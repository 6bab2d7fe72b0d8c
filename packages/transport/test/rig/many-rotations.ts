/** BB-05 at any length: endpoints whose client certificate is replaced over and over, with a request in between. */

import assert from 'node:assert/strict';
import { CertificateAuthority } from '@roundhouse/simulators';
import { MaterialSource, TransportPool } from '@roundhouse/transport';
import type { Identity } from '@roundhouse/transport';
import { Call } from './call.ts';
import { CertificateServer } from './certificate-server.ts';
import { until } from './until.ts';

/** Longer than any request here takes, and so short that drains are over in time. */
const drainTimeoutMs = 1_000;

export async function rotateOften(
  { endpoints, rotations }: { readonly endpoints: number; readonly rotations: number },
  afterEach: (rotation: number) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const authority = await CertificateAuthority.create();
  const serving = await authority.issue({
    commonName: 'server',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  await using server = await CertificateServer.listen(authority, serving, ['http/1.1']);
  await using pool = new TransportPool({ profile: 'proxy', limits: { drainTimeoutMs } });
  const sources = Array.from({ length: endpoints }, () => MaterialSource.pushed());
  const identities = sources.map((material, index) =>
    // One server, and endpoints that differ all the same.
    pool.identity(`cluster ${index}`, {
      url: server.url,
      serverName: `127.0.0.1`,
      material,
      ciphers: list(index),
    }),
  );
  const watches: Call[] = [];
  for (let rotation = 0; rotation <= rotations; rotation += 1) {
    const name = `generation ${rotation}`;
    const pair = await authority.issue({ commonName: name, usage: 'client' });
    for (const source of sources) {
      source.push({ ca: authority.certificatePem, cert: pair.certPem, key: pair.keyPem });
    }
    const answers = await Promise.all(identities.map((identity) => Call.text(identity)));
    assert.deepEqual([...new Set(answers)], [name]);
    if (rotation < 2) watches.push(...(await watch(identities)));
    const { totals, transports } = pool.inspect();
    assert.equal(totals.transports, endpoints);
    assert.equal(transports.filter(({ state }) => state === 'open').length, endpoints);
    assert.ok(totals.draining <= 3 * endpoints, `${totals.draining} drain`);
    await afterEach(rotation);
  }
  assert.equal(pool.inspect().totals.rotations, endpoints * rotations);
  // Those of superseded certificates are cut at the limit, and nothing else is left of them.
  await until(() => watches.every(({ settled }) => settled), 'the drains are over', 4 * drainTimeoutMs);
  assert.deepEqual([...new Set(watches.map(({ code }) => code))], ['ERR_RH_DRAINED']);
  await until(() => pool.inspect().totals.draining === 0, 'nothing drains');
  await until(() => server.server.open <= endpoints, 'no connection of a former certificate');
}

async function watch(identities: readonly Identity[]): Promise<Call[]> {
  const calls = identities.map((identity) => Call.start(identity, { path: '/watch', kind: 'stream' }));
  await Promise.all(calls.map((call) => call.head));
  return calls;
}

/** Lists of ciphers that differ in order only make endpoints that differ. */
function list(index: number): string {
  return [
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    ...Array.from({ length: index }, () => 'ECDHE-ECDSA-AES256-GCM-SHA384'),
  ].join(':');
}
