import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { deflateSync } from 'node:zlib';
import { ProtocolViolation } from '../src/streams/byte-connection.ts';
import { spdyDictionary } from '../src/streams/spdy/dictionary.ts';
import { fieldCompressor, fieldDecompressor } from '../src/streams/spdy/field-compression.ts';
import { encodeFields, maxFieldsBytes, parseFields } from '../src/streams/spdy/fields.ts';
import { SpdyFrameParser } from '../src/streams/spdy/frame-parser.ts';
import { encodeFrame, type SpdyFrame } from '../src/streams/spdy/frames.ts';
import { bytesOf, splits } from './streams-rig.ts';

/** What kubectl 1.35.2 sent for `kubectl exec -i web -- cat` with the input `hi`, taken from the wire. */
const fromKubectl = bytesOf(
  '80030001000000290000000100000000000078f9e3c6a7c26260606004a7b392a2d4c45c6851c29a0a0a6800000000ffff 800300010000001700000003000000000000c22e555c92929907000000ffff 800300010000001900000005000000000000c22ac5565c92925f5a02000000ffff 800300010000001500000007000000000000c229975a5404000000ffff 000000030000000268690000000301000000',
);

const empty = Buffer.alloc(0);

/** Data in pieces is one frame: where it is split is of no account. */
function joined(frames: readonly SpdyFrame[]): readonly SpdyFrame[] {
  const result: SpdyFrame[] = [];
  for (const frame of frames) {
    const last = result.at(-1);
    if (frame.type !== 'data' || last?.type !== 'data' || last.streamId !== frame.streamId || last.fin) {
      result.push(frame);
    } else {
      result[result.length - 1] = { ...frame, data: Buffer.concat([last.data, frame.data]) };
    }
  }
  return result;
}

async function readWhole(pieces: readonly Buffer[]): Promise<readonly unknown[]> {
  const parser = new SpdyFrameParser();
  using decompressor = fieldDecompressor();
  const read: unknown[] = [];
  for (const frame of joined(pieces.flatMap((piece) => [...parser.push(piece)]))) {
    if (frame.type === 'syn-stream') {
      const fields = parseFields(await decompressor.transform(frame.block));
      read.push([frame.streamId, Object.fromEntries(fields)]);
    } else if (frame.type === 'data') read.push([frame.streamId, frame.data.toString(), frame.fin]);
    else read.push(frame);
  }
  assert.ok(parser.betweenFrames);
  return read;
}

test('what kubectl sends is read as it means it, wherever its bytes are split', async () => {
  const meant = [
    [1, { streamtype: 'error' }],
    [3, { streamtype: 'stdin' }],
    [5, { streamtype: 'stdout' }],
    [7, { streamtype: 'stderr' }],
    [3, 'hi', true],
  ];
  for (const pieces of splits(fromKubectl)) assert.deepEqual(await readWhole(pieces), meant);
  assert.deepEqual(await readWhole(Array.from(fromKubectl, (byte) => Buffer.from([byte]))), meant);
});

describe('each frame is written in its form and read from it', () => {
  const frames: readonly (readonly [SpdyFrame, hex: string])[] = [
    [{ type: 'data', streamId: 3, fin: false, data: Buffer.from('hi') }, '0000000300000002 6869'],
    [{ type: 'data', streamId: 3, fin: true, data: empty }, '0000000301000000'],
    [
      { type: 'syn-reply', streamId: 5, fin: false, block: Buffer.from('ab') },
      '8003000200000006 00000005 6162',
    ],
    [
      {
        type: 'syn-stream',
        streamId: 1,
        associatedTo: 2,
        priority: 7,
        fin: true,
        unidirectional: true,
        block: Buffer.from('ab'),
      },
      '800300010300000c 00000001 00000002 e000 6162',
    ],
    [{ type: 'headers', streamId: 5, fin: true, block: empty }, '8003000801000004 00000005'],
    [{ type: 'rst-stream', streamId: 9, status: 5 }, '8003000300000008 00000009 00000005'],
    [
      { type: 'settings', entries: [{ id: 4, flags: 1, value: 100 }] },
      '800300040000000c 00000001 01000004 00000064',
    ],
    [{ type: 'ping', id: 1 }, '8003000600000004 00000001'],
    [{ type: 'goaway', lastStreamId: 7, status: 0 }, '8003000700000008 00000007 00000000'],
    [{ type: 'window-update', streamId: 1, delta: 65_536 }, '8003000900000008 00000001 00010000'],
    [{ type: 'unknown', code: 77 }, '8003004d00000000'],
  ];
  for (const [frame, hex] of frames) {
    test(frame.type, () => {
      assert.deepEqual(encodeFrame(frame), bytesOf(hex));
      for (const pieces of splits(encodeFrame(frame))) {
        const parser = new SpdyFrameParser();
        assert.deepEqual(joined(pieces.flatMap((piece) => [...parser.push(piece)])), [frame]);
      }
    });
  }
});

test('header blocks are one stream: a block can be read when all before it were, and repeats cost nothing', async () => {
  using compressor = fieldCompressor();
  using decompressor = fieldDecompressor();
  const fields = new Map([
    ['streamtype', 'data'],
    ['port', '8080'],
    ['requestid', '12'],
  ]);
  const blocks: Buffer[] = [];
  for (let count = 0; count < 50; count += 1) blocks.push(await compressor.transform(encodeFields(fields)));
  const [first = empty, second = empty] = blocks;
  assert.ok(second.length < first.length / 2, `${second.length} bytes after ${first.length}`);
  for (const block of blocks) assert.deepEqual(parseFields(await decompressor.transform(block)), fields);
  using late = fieldDecompressor();
  await assert.rejects(late.transform(second), ProtocolViolation);
  await assert.rejects(late.transform(first), ProtocolViolation, 'and then none can be read any more');
});

test('names are lower case on the wire, and several values of one are joined', () => {
  const block = encodeFields(new Map([['StreamType', 'a\0b']]));
  const name = Buffer.from('streamtype');
  assert.deepEqual(block, Buffer.concat([bytesOf('00000001 0000000a'), name, bytesOf('00000003 610062')]));
  assert.deepEqual(parseFields(block), new Map([['streamtype', 'a\0b']]));
});

describe('what the protocol does not allow is refused', () => {
  const heads: Readonly<Record<string, string>> = {
    'another version': '8002000600000004',
    'a long control frame': '8003000100010001',
    'data for stream 0': '0000000000000001',
    'a reset without its status': '800300030000000400000001',
    'a stream without its slots': '800300010000000800000001 00000000',
    'a reply to stream 0': '800300020000000400000000',
    'a ping without its id': '8003000600000000',
    'settings whose number does not fit': '800300040000000800000002 00000000',
  };
  for (const [name, hex] of Object.entries(heads)) {
    test(name, () => {
      assert.throws(() => [...new SpdyFrameParser().push(bytesOf(hex))], ProtocolViolation);
    });
  }

  const blocks: Readonly<Record<string, string>> = {
    'fewer fields than announced': '00000002 00000001 61 00000000',
    'more than announced': '00000000 00',
    'a name that is longer than the block': '00000001 ffffffff 61',
    'a field without a name': '00000001 00000000 00000000',
    'a name twice': '00000002 0000000161 00000000 0000000161 00000000',
    nothing: '',
  };
  for (const [name, hex] of Object.entries(blocks)) {
    test(`a header block: ${name}`, () => {
      assert.throws(() => parseFields(bytesOf(hex)), ProtocolViolation);
    });
  }

  test('a header block of a few bytes that stand for very many', async () => {
    using decompressor = fieldDecompressor();
    const bomb = deflateSync(Buffer.alloc(100 * maxFieldsBytes), { dictionary: spdyDictionary });
    assert.ok(bomb.length < maxFieldsBytes);
    await assert.rejects(decompressor.transform(bomb), /a header block is too long/);
  });
});

test('the length of a data frame costs nothing: it is passed on as it comes', () => {
  const parser = new SpdyFrameParser();
  assert.deepEqual([...parser.push(bytesOf('0000000101ffffff'))], []);
  assert.equal(parser.betweenFrames, false);
  const [frame] = [...parser.push(Buffer.from('abc'))];
  assert.deepEqual(frame, { type: 'data', streamId: 1, fin: false, data: Buffer.from('abc') });
});
