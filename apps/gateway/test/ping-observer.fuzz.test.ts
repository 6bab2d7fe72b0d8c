/** Pings are seen wherever a stream is cut, and nothing else is taken for one. */

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { PingObserver } from '../src/forwarding/ping-observer.ts';

interface Frame {
  readonly ping: boolean;
  readonly bytes: Buffer;
}

function webSocketFrame(opcode: number, payload: Buffer, masked: boolean): Buffer {
  const { length } = payload;
  const size = length < 126 ? length : length < 65_536 ? 126 : 127;
  const extended = Buffer.alloc(size === 126 ? 2 : size === 127 ? 8 : 0);
  if (size === 126) extended.writeUInt16BE(length);
  if (size === 127) extended.writeBigUInt64BE(BigInt(length));
  return Buffer.concat([
    Buffer.from([0x80 | opcode, (masked ? 0x80 : 0) | size]),
    extended,
    Buffer.alloc(masked ? 4 : 0, 0x89),
    payload,
  ]);
}

function spdyFrame(control: boolean, type: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt16BE(control ? 0x8003 : 0);
  header.writeUInt16BE(type, 2);
  header.writeUIntBE(payload.length, 5, 3);
  return Buffer.concat([header, payload]);
}

const payload = fc
  .tuple(
    fc.constantFrom(0, 1, 4, 125, 126, 127, 300, 65_535, 65_536),
    fc.constantFrom(0x00, 0x89, 0x80, 0x06),
  )
  .map(([length, fill]) => Buffer.alloc(length, fill));

const frames: Readonly<Record<string, fc.Arbitrary<Frame>>> = {
  websocket: fc
    .tuple(fc.constantFrom(0, 1, 2, 8, 9, 10), payload, fc.boolean())
    .map(([opcode, body, masked]) => ({ ping: opcode === 9, bytes: webSocketFrame(opcode, body, masked) })),
  'SPDY/3.1': fc
    .tuple(fc.boolean(), fc.constantFrom(1, 2, 3, 4, 6, 7, 9), payload)
    .map(([control, type, body]) => ({ ping: control && type === 6, bytes: spdyFrame(control, type, body) })),
};

for (const [protocol, frame] of Object.entries(frames)) {
  describe(protocol, () => {
    test('a stream has the pings that were put into it, however it is cut', () => {
      fc.assert(
        fc.property(fc.array(frame, { maxLength: 8 }), fc.array(fc.nat(20_000)), (stream, cuts) => {
          const observer = new PingObserver(protocol);
          const bytes = Buffer.concat(stream.map((one) => one.bytes));
          let at = 0;
          let seen = 0;
          for (const cut of [...cuts, bytes.length]) {
            seen += observer.sees(bytes.subarray(at, at + cut)) ? 1 : 0;
            at = Math.min(at + cut, bytes.length);
          }
          const pings = stream.filter(({ ping }) => ping).length;
          assert.ok(seen <= pings && (pings === 0 || seen > 0), `${seen} of ${pings}`);
        }),
        fuzzRuns(200),
      );
    });

    test('each ping is seen when its frames come one by one, and byte by byte', () => {
      fc.assert(
        fc.property(fc.array(frame, { maxLength: 5 }), (stream) => {
          const whole = new PingObserver(protocol);
          const single = new PingObserver(protocol);
          for (const { ping, bytes } of stream) {
            assert.equal(whole.sees(bytes), ping);
            let seen = 0;
            for (let at = 0; at < bytes.length; at += 1) {
              seen += single.sees(bytes.subarray(at, at + 1)) ? 1 : 0;
            }
            assert.equal(seen, ping ? 1 : 0);
          }
        }),
        fuzzRuns(20),
      );
    });
  });
}
