/**
 * What `go/tunnel-client` does, over our own tunnels: a process of its own, so that the two can be compared. One JSON object on standard
 * output.
 */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';
import { TunnelDialer } from '@roundhouse/konnectivity';
import { TlsMaterial } from '@roundhouse/transport';

const { values } = parseArgs({
  options: {
    proxy: { type: 'string', default: '' },
    ca: { type: 'string', default: '' },
    cert: { type: 'string', default: '' },
    key: { type: 'string', default: '' },
    target: { type: 'string', default: '' },
    mode: { type: 'string', default: 'download' },
    bytes: { type: 'string', default: '0' },
  },
});

const chunkBytes = 32 * 1024;
const [ca, cert, key] = await Promise.all(
  [values.ca, values.cert, values.key].map(async (file) => readFile(file)),
);
await using tunnels = new TunnelDialer({
  servers: [values.proxy],
  tls: { material: TlsMaterial.fromPem({ ca, cert, key }) },
});
const began = performance.now();
const cpu = process.cpuUsage();
const tunnel = await tunnels.dial(values.target);
let bytes = 0;
let sha256: string;
if (values.mode === 'download') {
  tunnel.write('\n');
  const hash = createHash('sha256');
  for await (const chunk of tunnel) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  sha256 = hash.digest('hex');
} else {
  const chunk = Buffer.from(Array.from({ length: chunkBytes }, (_, index) => (index * 7) % 256));
  for (; bytes < Number(values.bytes); bytes += chunk.length)
    if (!tunnel.write(chunk)) await once(tunnel, 'drain');
  sha256 = await text(tunnel);
}
const { user, system } = process.cpuUsage(cpu);
console.log(
  JSON.stringify({
    done: 1,
    failed: 0,
    bytes,
    sha256,
    wallMs: performance.now() - began,
    cpuMs: (user + system) / 1000,
    peakRssBytes: process.resourceUsage().maxRSS * 1024,
  }),
);
