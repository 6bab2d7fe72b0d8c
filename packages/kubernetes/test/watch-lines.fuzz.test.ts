/** The line reader of watches: however bytes are cut into chunks, the lines are those of the text; and it never keeps more than it may. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { ShapeError } from '../src/client/kube-object.ts';
import { LineReader } from '../src/watch/line-reader.ts';
import { readWatchEvent } from '../src/watch/watch-event.ts';

const options = fuzzRuns(1_000);
const configMap = { apiVersion: 'v1', kind: 'ConfigMap' };

/** The text in pieces of these sizes, over and over. */
function* cut(bytes: Buffer, sizes: readonly number[]): Generator<Buffer> {
  for (let at = 0, piece = 0; at < bytes.length; piece += 1) {
    const size = sizes[piece % sizes.length] ?? 1;
    yield bytes.subarray(at, at + size);
    at += size;
  }
}

function linesOf(bytes: Buffer, sizes: readonly number[], maxLineBytes: number): readonly string[] {
  const reader = new LineReader(maxLineBytes);
  const lines = [...cut(bytes, sizes)].flatMap((chunk) => [...reader.push(chunk)]);
  return [...lines, reader.rest()].filter((line) => line !== '');
}

const sizes = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 });

test('however text is cut into chunks, in the middle of characters too, its lines come out', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme', maxLength: 30 })), sizes, (lines, pieces) => {
      const text = lines.map((line) => line.replaceAll('\n', ' ')).join('\n');
      const wanted = text
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => line !== '');
      assert.deepEqual(linesOf(Buffer.from(text), pieces, 10_000), wanted);
    }),
    options,
  );
});

test('whatever bytes come, the result is lines within the bound, or the end of it', () => {
  fc.assert(
    fc.property(
      fc.uint8Array({ maxLength: 600 }),
      sizes,
      fc.integer({ min: 1, max: 60 }),
      (raw, pieces, most) => {
        const bytes = Buffer.from(raw);
        const longest = Math.max(0, ...split(bytes).map((line) => line.length));
        if (longest > most) {
          assert.throws(() => linesOf(bytes, pieces, most), ShapeError);
        } else {
          for (const line of linesOf(bytes, pieces, most)) {
            // What is no UTF-8 becomes a mark of three bytes.
            assert.ok(Buffer.byteLength(line) <= 3 * most);
          }
        }
      },
    ),
    options,
  );
});

test('whatever a line holds, the result is an event, or the word that it is none', () => {
  const anything = (line: string): void => {
    try {
      const event = readWatchEvent(line, configMap);
      if (event.type === 'BOOKMARK') assert.notEqual(event.resourceVersion, '');
      else if (event.type !== 'ERROR') assert.equal(typeof event.object.metadata.name, 'string');
    } catch (error) {
      assert.ok(error instanceof ShapeError, String(error));
    }
  };
  fc.assert(fc.property(fc.string({ unit: 'binary' }), anything), options);
  const types = fc.constantFrom('ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR', '', 'OTHER');
  const keys = fc.constantFrom(
    'name',
    'labels',
    'uid',
    'resourceVersion',
    '__proto__',
    'generation',
    'kind',
    'code',
  );
  const object = fc.record(
    { metadata: fc.dictionary(keys, fc.jsonValue()), kind: fc.jsonValue() },
    { requiredKeys: [] },
  );
  const event = fc.record({
    type: fc.oneof(types, fc.jsonValue()),
    object: fc.oneof(object, fc.jsonValue()),
  });
  fc.assert(
    fc.property(event, (value) => anything(JSON.stringify(value))),
    options,
  );
});

function split(bytes: Buffer): readonly Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(10); end !== -1; end = bytes.indexOf(10, start)) {
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return [...lines, bytes.subarray(start)];
}
