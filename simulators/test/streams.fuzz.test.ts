// Whatever comes, in whatever pieces: it is what was sent, or it is refused as a violation of the protocol, and nothing else.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { fuzzRuns } from '../src/fuzz-runs.ts';
import { ProtocolViolation } from '../src/streams/byte-connection.ts';
import { encodeTarHeader, tarEnd, tarPadding, TarReader } from '../src/streams/processes/tar-format.ts';
import { parseScript, ShellSyntaxError } from '../src/streams/processes/shell-syntax.ts';
import { encodeFields, parseFields } from '../src/streams/spdy/fields.ts';
import { SpdyFrameParser } from '../src/streams/spdy/frame-parser.ts';
import { encodeFrame, type SpdyFrame } from '../src/streams/spdy/frames.ts';
import { WebSocketFrameParser } from '../src/streams/websocket/frame-parser.ts';
import { encodeWebSocketFrame, opcode, type WebSocketFrame } from '../src/streams/websocket/frames.ts';

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
/** Objects as a program makes them, to be compared with those that it has made. */
const record = <T extends object>(model: { [Key in keyof T]: fc.Arbitrary<T[Key]> }): fc.Arbitrary<T> =>
  fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
const streamId = fc.integer({ min: 1, max: 0x7fffffff });
const number = fc.integer({ min: 0, max: 0x7fffffff });

const spdyFrame: fc.Arbitrary<SpdyFrame> = fc.oneof(
  record({ type: fc.constant('data' as const), streamId, fin: fc.boolean(), data: bytes(300) }),
  record({
    type: fc.constant('syn-stream' as const),
    streamId,
    associatedTo: number,
    priority: fc.integer({ min: 0, max: 7 }),
    fin: fc.boolean(),
    unidirectional: fc.boolean(),
    block: bytes(100),
  }),
  record({
    type: fc.constantFrom('syn-reply' as const, 'headers' as const),
    streamId,
    fin: fc.boolean(),
    block: bytes(100),
  }),
  record({ type: fc.constant('rst-stream' as const), streamId, status: number }),
  record({ type: fc.constant('ping' as const), id: number }),
  record({ type: fc.constant('goaway' as const), lastStreamId: number, status: number }),
  record({ type: fc.constant('window-update' as const), streamId: number, delta: number }),
  record({ type: fc.constant('unknown' as const), code: fc.integer({ min: 10, max: 0xffff }) }),
);

const webSocketFrame: fc.Arbitrary<WebSocketFrame> = fc.oneof(
  record({
    fin: fc.boolean(),
    opcode: fc.constantFrom(opcode.continuation, opcode.text, opcode.binary),
    payload: fc.oneof(
      bytes(200),
      fc.integer({ min: 65_530, max: 65_600 }).map((length) => Buffer.alloc(length, 'x')),
    ),
  }),
  record({
    fin: fc.constant(true),
    opcode: fc.constantFrom(opcode.ping, opcode.pong, opcode.close),
    payload: bytes(125),
  }),
);

/** The bytes in pieces of these lengths, over and over; each a copy, as a parser may write into what it is given. */
function* pieces(whole: Buffer, lengths: readonly number[]): Generator<Buffer> {
  let rest = whole;
  for (let turn = 0; rest.length > 0; turn += 1) {
    const length = lengths[turn % lengths.length] ?? rest.length;
    yield Buffer.from(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
}

const lengths = fc.array(fc.integer({ min: 1, max: 70_000 }), { minLength: 1, maxLength: 8 });

test('SPDY frames are what was written, in whatever pieces', () => {
  fc.assert(
    fc.property(fc.array(spdyFrame, { maxLength: 12 }), lengths, (frames, sizes) => {
      const parser = new SpdyFrameParser();
      const whole = Buffer.concat(frames.map(encodeFrame));
      const read = [...pieces(whole, sizes)].flatMap((piece) => [...parser.push(piece)]);
      assert.ok(parser.betweenFrames);
      assert.deepEqual(bytesByStream(read), bytesByStream(frames));
      assert.deepEqual(
        read.filter((frame) => frame.type !== 'data'),
        frames.filter((frame) => frame.type !== 'data'),
      );
    }),
    fuzzRuns(300),
  );
});

function bytesByStream(frames: readonly SpdyFrame[]): unknown {
  const found = new Map<number, { hex: string; ends: number }>();
  for (const frame of frames) {
    if (frame.type !== 'data') continue;
    const entry = found.get(frame.streamId) ?? { hex: '', ends: 0 };
    found.set(frame.streamId, {
      hex: entry.hex + frame.data.toString('hex'),
      ends: entry.ends + (frame.fin ? 1 : 0),
    });
  }
  return found;
}

test('WebSocket frames are what was written, in whatever pieces, masked or not', () => {
  fc.assert(
    fc.property(
      fc.array(webSocketFrame, { maxLength: 8 }),
      lengths,
      fc.constantFrom('client' as const, 'server' as const),
      (frames, sizes, from) => {
        const parser = new WebSocketFrameParser(from);
        const mask = from === 'client' ? 'masked' : 'plain';
        const whole = Buffer.concat(frames.map((frame) => encodeWebSocketFrame(frame, mask)));
        const read = [...pieces(whole, sizes)].flatMap((piece) => [...parser.push(piece)]);
        assert.deepEqual(read, frames);
        assert.ok(parser.betweenFrames);
      },
    ),
    fuzzRuns(150),
  );
});

test('field blocks are what was written', () => {
  const fields = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z-]{1,12}$/), fc.string()), {
    selector: ([name]) => name,
    maxLength: 8,
  });
  fc.assert(
    fc.property(fields, (entries) => {
      const written = new Map(entries.map(([name, value]) => [name, value.toWellFormed()]));
      assert.deepEqual(parseFields(encodeFields(written)), written);
    }),
    fuzzRuns(300),
  );
});

test('archives are what was written, in whatever pieces', () => {
  const entry = record({
    name: fc.stringMatching(/^[a-z/]{0,200}[a-z]$/),
    content: bytes(1200),
    mode: fc.integer({ min: 0, max: 0o777 }),
    modifiedAt: fc.integer({ min: 0, max: 2_000_000_000 }),
  });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 4 }), lengths, (entries, sizes) => {
      const whole = Buffer.concat([
        ...entries.flatMap(({ content, ...rest }) => [
          encodeTarHeader({ ...rest, kind: 'file', size: content.length }),
          content,
          Buffer.alloc(tarPadding(content.length)),
        ]),
        tarEnd,
      ]);
      const reader = new TarReader();
      const read: { name: string; content: Buffer; mode: number; modifiedAt: number }[] = [];
      for (const event of [...pieces(whole, sizes)].flatMap((piece) => [...reader.push(piece)])) {
        if (event.type === 'entry') {
          const { name, mode, modifiedAt } = event.entry;
          read.push({ name, content: Buffer.alloc(0), mode, modifiedAt });
        } else read.at(-1)!.content = Buffer.concat([read.at(-1)!.content, event.data]);
      }
      assert.deepEqual(read, entries);
    }),
    fuzzRuns(150),
  );
});

test('bytes that nobody meant are read as something, or refused as a violation', () => {
  const readers: readonly ((chunk: Buffer) => unknown)[] = [
    (chunk) => [...new SpdyFrameParser().push(chunk)],
    (chunk) => [...new WebSocketFrameParser('client').push(chunk)],
    (chunk) => [...new WebSocketFrameParser('server').push(chunk)],
    parseFields,
    (chunk) => [...new TarReader().push(chunk)],
    (chunk) => parseScript(chunk.toString('latin1')),
  ];
  /** Valid bytes with a few others in them get further than noise. */
  const mutated = fc
    .tuple(
      fc.oneof(
        fc
          .array(spdyFrame, { minLength: 1, maxLength: 4 })
          .map((frames) => Buffer.concat(frames.map(encodeFrame))),
        webSocketFrame.map((frame) => encodeWebSocketFrame(frame, 'masked')),
        fc.constant(
          encodeFields(
            new Map([
              ['streamtype', 'data'],
              ['port', '80'],
            ]),
          ),
        ),
        fc.constant(Buffer.from('echo "a $b" | cat > /x && exit 3; \\')),
      ),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 6 }),
    )
    .map(([valid, changes]) => {
      const copy = Buffer.from(valid);
      for (const [position, byte] of changes) copy[position % copy.length] = byte;
      return copy;
    });
  fc.assert(
    fc.property(fc.oneof(mutated, bytes(600)), (chunk) => {
      for (const read of readers) {
        try {
          read(Buffer.from(chunk));
        } catch (error) {
          if (!(error instanceof ProtocolViolation || error instanceof ShellSyntaxError)) throw error;
        }
      }
    }),
    fuzzRuns(1500),
  );
});
