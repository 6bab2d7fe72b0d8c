/** The packets byte for byte, and what is no packet. The bytes were made by another implementation of protobuf. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { fuzzRuns } from '@roundhouse/simulators';
import { TunnelError } from '../src/errors.ts';
import { newRandom } from '../src/tunnel-stream.ts';
import { decodePacket } from '../src/wire/decode-packet.ts';
import {
  encodeCloseDial,
  encodeCloseRequest,
  encodeDataHead,
  encodeDialRequest,
} from '../src/wire/encode-packet.ts';
import { MessageReader, messageHead } from '../src/wire/grpc-messages.ts';

const bytes = (hex: string): Buffer => Buffer.from(hex.replaceAll(' ', ''), 'hex');
const text = (value: string): string => Buffer.from(value).toString('hex');
const dial = `0a 03 ${text('tcp')} 12 06 ${text('c1:443')} 18`;

suite('packets', () => {
  test('what a client says is what others write, byte for byte', () => {
    assert.deepEqual(encodeDialRequest('c1:443', 1), bytes(`08 00 12 0f ${dial} 01`));
    assert.deepEqual(encodeCloseRequest(7), bytes('08 02 2a 02 08 07'));
    assert.deepEqual(encodeCloseDial(1), bytes('08 05 3a 02 08 01'));
    assert.deepEqual(encodeDataHead(7, 2), bytes('08 04 22 06 08 07 1a 02'));
    assert.deepEqual(encodeDataHead(300, 2), bytes('08 04 22 07 08 ac02 1a 02'));
  });

  test('what others write is read, with a type and, for a dial request, without', () => {
    const request = { type: 'DIAL_REQ', protocol: 'tcp', address: 'c1:443', random: 1 };
    assert.deepEqual(decodePacket(bytes(`08 00 12 0f ${dial} 01`)), request);
    assert.deepEqual(decodePacket(bytes(`12 0f ${dial} 01`)), request);
    assert.deepEqual(decodePacket(bytes(`12 17 ${dial} ffffffffffffffff7f`)), {
      ...request,
      random: 2n ** 63n - 1n,
    });
    assert.deepEqual(decodePacket(bytes('08 01 1a 04 10 07 18 01')), {
      type: 'DIAL_RSP',
      error: '',
      connectId: 7,
      random: 1,
    });
    assert.deepEqual(decodePacket(bytes(`08 01 1a 16 0a 12 ${text('No agent available')} 18 01`)), {
      type: 'DIAL_RSP',
      error: 'No agent available',
      connectId: 0,
      random: 1,
    });
    assert.deepEqual(decodePacket(bytes('08 02 2a 02 08 07')), { type: 'CLOSE_REQ', connectId: 7 });
    assert.deepEqual(decodePacket(bytes('08 03 32 02 10 07')), {
      type: 'CLOSE_RSP',
      error: '',
      connectId: 7,
    });
    assert.deepEqual(decodePacket(bytes(`08 03 32 08 0a 04 ${text('boom')} 10 07`)), {
      type: 'CLOSE_RSP',
      error: 'boom',
      connectId: 7,
    });
    assert.deepEqual(decodePacket(bytes('08 04 22 06 08 07 1a 02 6869')), {
      type: 'DATA',
      connectId: 7,
      error: '',
      data: Buffer.from('hi'),
    });
    assert.deepEqual(decodePacket(bytes('08 05 3a 02 08 01')), { type: 'DIAL_CLS', random: 1 });
    assert.deepEqual(decodePacket(bytes('08 06 42 00')), { type: 'DRAIN' });
    assert.deepEqual(decodePacket(bytes('08 63')), { type: 'Unknown', number: 99 });
  });

  test('fields that are not known are passed over', () => {
    assert.deepEqual(decodePacket(bytes('4a 01 ff 08 02 2a 07 08 07 7d 01020304 51 0102030405060708')), {
      type: 'CLOSE_REQ',
      connectId: 7,
    });
  });

  for (const [what, hex] of Object.entries({
    'a number that breaks off': '08 80',
    'a number without an end': '08 ffffffffffffffffffff01',
    'a payload that is longer than the packet': '08 04 22 7f 08 07',
    'a length that is negative': '08 04 22 ffffffffffffffffff01',
    'a field without a number': '00 00',
    'a wire type that proto3 has not': '0b',
  })) {
    test(`${what} is an error of the protocol`, () => {
      assert.throws(() => decodePacket(bytes(hex)), { code: 'ERR_RH_TUNNEL_PROTOCOL' });
    });
  }

  test('any bytes are a packet or an error of the protocol', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (input) => {
        try {
          decodePacket(Buffer.from(input));
        } catch (error) {
          assert.ok(error instanceof TunnelError && error.code === 'ERR_RH_TUNNEL_PROTOCOL');
        }
      }),
      fuzzRuns(5_000),
    );
  });

  test('messages come out as they went in, however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 10 }),
        fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 10 }),
        (given, cuts) => {
          const messages = given.map((message) => Buffer.from(message));
          const wire = Buffer.concat(messages.flatMap((message) => [messageHead(message.length), message]));
          const read: Buffer[] = [];
          const reader = new MessageReader((message) => read.push(Buffer.from(message)));
          for (let at = 0, turn = 0; at < wire.length; turn += 1) {
            const length = cuts[turn % cuts.length]!;
            reader.push(wire.subarray(at, at + length));
            at += length;
          }
          assert.deepEqual(read, messages);
          assert.equal(reader.buffered, 0);
        },
      ),
      fuzzRuns(1_000),
    );
  });

  test('a message that is compressed, or longer than 4 MiB, is an error of the protocol', () => {
    const reader = new MessageReader(() => assert.fail('it was taken'));
    assert.throws(() => reader.push(bytes('01 00000001 00')), { code: 'ERR_RH_TUNNEL_PROTOCOL' });
    assert.throws(() => reader.push(bytes('00 00400001 00')), { code: 'ERR_RH_TUNNEL_PROTOCOL' });
  });

  test('numbers of dials are never 0, never the same, and exact', () => {
    const randoms = Array.from({ length: 100_000 }, () => newRandom());
    assert.equal(new Set(randoms).size, randoms.length);
    assert.ok(randoms.every((random) => Number.isSafeInteger(random) && random > 0));
  });
});
