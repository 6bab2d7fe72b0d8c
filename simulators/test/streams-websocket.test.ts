// The examples are those of RFC 6455, sections 1.3 and 5.7.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ProtocolViolation } from '../src/streams/byte-connection.ts';
import { WebSocketConnection, type WebSocketMessage } from '../src/streams/websocket/connection.ts';
import { WebSocketFrameParser } from '../src/streams/websocket/frame-parser.ts';
import { encodeWebSocketFrame, opcode } from '../src/streams/websocket/frames.ts';
import { acceptValueOf } from '../src/streams/websocket/handshake.ts';
import { bytesOf, connectionPair, splits } from './streams-rig.ts';

const hello = Buffer.from('Hello');

test('the accept value is that of the specification', () => {
  assert.equal(acceptValueOf('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
});

test('frames are written in the shortest form, masked by clients only', () => {
  const plain = encodeWebSocketFrame({ fin: true, opcode: opcode.text, payload: hello }, 'plain');
  assert.equal(plain.toString('hex'), '810548656c6c6f');
  assert.deepEqual(
    [125, 126, 65_535, 65_536].map((length) =>
      encodeWebSocketFrame({ fin: true, opcode: opcode.binary, payload: Buffer.alloc(length) }, 'plain')
        .subarray(0, 10)
        .toString('hex'),
    ),
    ['827d0000000000000000', '827e007e000000000000', '827effff000000000000', '827f0000000000010000'],
  );
  const masked = encodeWebSocketFrame({ fin: true, opcode: opcode.text, payload: hello }, 'masked');
  assert.equal(masked.subarray(0, 2).toString('hex'), '8185');
  const key = masked.subarray(2, 6);
  assert.deepEqual(Buffer.from(masked.subarray(6).map((byte, index) => byte ^ key[index % 4]!)), hello);
});

test('frames are read wherever their bytes are split', () => {
  const long = Buffer.alloc(300, 'x');
  const cases = [
    ['client', bytesOf('818537fa213d7f9f4d5158'), [{ fin: true, opcode: 1, payload: hello }]],
    [
      'server',
      bytesOf('010348656c 80026c6f 8900'),
      [
        { fin: false, opcode: 1, payload: Buffer.from('Hel') },
        { fin: true, opcode: 0, payload: Buffer.from('lo') },
        { fin: true, opcode: 9, payload: Buffer.alloc(0) },
      ],
    ],
    [
      'server',
      encodeWebSocketFrame({ fin: true, opcode: opcode.binary, payload: long }, 'plain'),
      [{ fin: true, opcode: 2, payload: long }],
    ],
  ] as const;
  for (const [from, bytes, frames] of cases) {
    for (const pieces of splits(bytes)) {
      const parser = new WebSocketFrameParser(from);
      assert.deepEqual(
        pieces.flatMap((piece) => [...parser.push(Buffer.from(piece))]),
        frames,
      );
      assert.ok(parser.betweenFrames);
    }
  }
});

describe('what the protocol does not allow is refused', () => {
  const frames: Readonly<Record<string, readonly ['client' | 'server', string]>> = {
    'a plain frame from a client': ['client', '8100'],
    'a masked frame from a server': ['server', '818000000000'],
    'reserved bits': ['server', 'c100'],
    'an opcode that there is not': ['server', '8300'],
    'a ping in pieces': ['server', '0900'],
    'a long ping': ['server', '897e007e'],
    'a length in two bytes that fits into one': ['server', '827e007d'],
    'a length in eight bytes that fits into two': ['server', '827f000000000000ffff'],
    'a length beyond the bound': ['server', '827f0000000000400001'],
    'a length beyond all bounds': ['server', '827fffffffffffffffff'],
  };
  for (const [name, [from, hex]] of Object.entries(frames)) {
    test(name, () => {
      assert.throws(() => [...new WebSocketFrameParser(from).push(bytesOf(hex))], ProtocolViolation);
    });
  }
});

async function collect(connection: WebSocketConnection): Promise<readonly WebSocketMessage[]> {
  const messages: WebSocketMessage[] = [];
  for await (const message of connection.messages()) messages.push(message);
  return messages;
}

test('messages are whole, pings come back between their pieces, and a close is answered once', async () => {
  const [near, far] = connectionPair();
  const server = new WebSocketConnection(far, 'server');
  const received = collect(server);
  const frames = [
    { fin: false, opcode: opcode.text, payload: Buffer.from('Hel') },
    { fin: true, opcode: opcode.ping, payload: Buffer.from('?') },
    { fin: true, opcode: opcode.continuation, payload: Buffer.from('lo') },
    { fin: true, opcode: opcode.binary, payload: Buffer.alloc(0) },
    { fin: true, opcode: opcode.close, payload: bytesOf('03e8') },
  ];
  for (const frame of frames) await near.write(encodeWebSocketFrame(frame, 'masked'));
  assert.deepEqual(await received, [
    { text: true, data: hello },
    { text: false, data: Buffer.alloc(0) },
  ]);
  assert.equal(server.closeCode, 1000);
  await server.close();
  far.end();
  const answered: Buffer[] = [];
  for await (const chunk of near.chunks()) answered.push(chunk);
  assert.deepEqual(Buffer.concat(answered), bytesOf('8a013f 880203e8'));
});

test('a message that begins within another, or goes on without a beginning, ends the connection with 1002', async () => {
  for (const frames of [
    [
      { fin: false, opcode: opcode.text, payload: hello },
      { fin: true, opcode: opcode.text, payload: hello },
    ],
    [{ fin: true, opcode: opcode.continuation, payload: hello }],
    [{ fin: true, opcode: opcode.close, payload: Buffer.from('x') }],
  ]) {
    const [near, far] = connectionPair();
    const server = new WebSocketConnection(far, 'server');
    for (const frame of frames) await near.write(encodeWebSocketFrame(frame, 'masked'));
    await assert.rejects(collect(server), ProtocolViolation);
    far.end();
    const answered: Buffer[] = [];
    for await (const chunk of near.chunks()) answered.push(chunk);
    assert.deepEqual(Buffer.concat(answered), bytesOf('880203ea'));
  }
});

test('the end of the connection without a close frame is told apart, and an end within a frame is none', async () => {
  const [near, far] = connectionPair();
  const server = new WebSocketConnection(far, 'server');
  near.end();
  assert.deepEqual([await collect(server), server.closeCode], [[], undefined]);

  const [cut, other] = connectionPair();
  await cut.write(bytesOf('8185'));
  cut.end();
  await assert.rejects(collect(new WebSocketConnection(other, 'server')), ProtocolViolation);
});
