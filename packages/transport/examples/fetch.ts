import { readFile } from 'node:fs/promises';
import { fetch } from 'undici';
import { Endpoint, TlsMaterial, TransportPool } from '@roundhouse/transport';

const [, , url = 'https://localhost:6443', caFile = 'ca.crt'] = process.argv;

// One pool for the process. Leaving the block drains it: no socket, no timer is left.
await using pool = new TransportPool({ profile: 'apiClient' });

// One identity for each party that is spoken to or for. Equal content shares connections, whoever asks.
const material = TlsMaterial.fromPem({ ca: await readFile(caFile) });
const api = pool.identity('api', Endpoint.from({ url, material }));

for (const token of ['first', 'second', 'third']) {
  const response = await fetch(`${url}/version`, {
    dispatcher: api.dispatcher,
    headers: { authorization: `Bearer ${token}` },
  });
  process.stdout.write(`${response.status} ${await response.text()}\n`);
}

const [transport] = pool.inspect().transports;
process.stdout.write(`${transport?.requestsTotal} requests, ${transport?.dials} connection\n`);
