/** Turns a protobuf message into the JSON that stands for the same object. */
import { ApiError } from '../api-error.ts';
import { timestamp } from '../clock.ts';
import { isJsonObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Field, MessageSchema, ScalarType } from './message-schema.ts';
import { malformed, WireReader } from './wire-reader.ts';
import type { WireValue } from './wire-reader.ts';

/** The deepest object of the API is far from it. */
const maxDepth = 32;

/** Throws BadRequest for bytes that are no such message, and for fields that the schema does not have: nothing gets lost silently. */
export function decodeMessage(bytes: Uint8Array, schema: MessageSchema, depth = 0): JsonObject {
  if (depth > maxDepth) throw malformed();
  const result = new Map<string, Json>();
  const reader = new WireReader(bytes);
  while (!reader.done) {
    const [number, wire] = reader.next();
    const field = schema.fields[number];
    if (field === undefined) {
      throw ApiError.badRequest(
        `field ${number} of ${schema.name} is not read from protobuf by this simulator; send the object as JSON`,
      );
    }
    if (field.shape === 'map') addEntry(result, field, wire);
    else addValue(result, field, decodeValue(wire, field.type, depth));
  }
  return Object.fromEntries(result);
}

function addValue(result: Map<string, Json>, field: Field, value: Json | undefined): void {
  if (value === undefined) return;
  if (field.name === '' && isJsonObject(value)) {
    for (const [key, child] of Object.entries(value)) if (child !== undefined) result.set(key, child);
  } else if (field.shape === 'list') {
    const present = result.get(field.name);
    result.set(field.name, [...(Array.isArray(present) ? present : []), value]);
  } else if (field.pointer || !isZero(value)) {
    result.set(field.name, value);
  }
}

/** A map is a list of entries with the key as field 1 and the value as field 2. */
function addEntry(result: Map<string, Json>, field: Field, wire: WireValue): void {
  const type: ScalarType = typeof field.type === 'string' ? field.type : 'bytes';
  const reader = new WireReader(bytesOf(wire));
  let key = '';
  let value: Json | undefined;
  while (!reader.done) {
    const [number, part] = reader.next();
    if (number === 1) key = textOf(bytesOf(part));
    else if (number === 2) value = decodeScalar(part, type);
  }
  const present = result.get(field.name);
  result.set(field.name, { ...(isJsonObject(present) ? present : {}), [key]: value ?? '' });
}

function decodeValue(wire: WireValue, type: Field['type'], depth: number): Json | undefined {
  return typeof type === 'string' ? decodeScalar(wire, type) : decodeMessage(bytesOf(wire), type, depth + 1);
}

function decodeScalar(wire: WireValue, type: ScalarType): Json | undefined {
  switch (type) {
    case 'string':
      return textOf(bytesOf(wire));
    case 'bytes':
      return Buffer.from(bytesOf(wire)).toString('base64');
    case 'int':
      return integerOf(wire);
    case 'bool':
      return integerOf(wire) !== 0;
    case 'time':
      return decodeTime(bytesOf(wire));
    case 'quantity':
      return decodeQuantity(bytesOf(wire));
    case 'unread':
      return undefined;
    case 'intOrString':
      return decodeIntOrString(bytesOf(wire));
    case 'texts':
      return decodeTexts(bytesOf(wire));
  }
}

/** Seconds and nanoseconds; an empty message is no time. */
function decodeTime(bytes: Uint8Array): Json | undefined {
  let seconds: number | undefined;
  const reader = new WireReader(bytes);
  while (!reader.done) {
    const [number, wire] = reader.next();
    if (number === 1) seconds = integerOf(wire);
  }
  return seconds === undefined ? undefined : timestamp(seconds * 1000);
}

function decodeQuantity(bytes: Uint8Array): Json {
  const reader = new WireReader(bytes);
  let value = '';
  while (!reader.done) {
    const [number, wire] = reader.next();
    if (number === 1) value = textOf(bytesOf(wire));
  }
  return value;
}

function decodeTexts(bytes: Uint8Array): Json {
  const texts: string[] = [];
  const reader = new WireReader(bytes);
  while (!reader.done) {
    const [number, wire] = reader.next();
    if (number === 1) texts.push(textOf(bytesOf(wire)));
  }
  return texts;
}

function decodeIntOrString(bytes: Uint8Array): Json {
  const parts = new Map<number, WireValue>();
  const reader = new WireReader(bytes);
  while (!reader.done) parts.set(...reader.next());
  const [type, integer, string] = [parts.get(1), parts.get(2), parts.get(3)];
  if (type !== undefined && integerOf(type) === 1) return string === undefined ? '' : textOf(bytesOf(string));
  return integer === undefined ? 0 : integerOf(integer);
}

function integerOf(wire: WireValue): number {
  if (wire.kind !== 'varint') throw malformed();
  return Number(BigInt.asIntN(64, wire.value));
}

function bytesOf(wire: WireValue): Uint8Array {
  if (wire.kind !== 'bytes') throw malformed();
  return wire.value;
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString();
}

function isZero(value: Json): boolean {
  return value === '' || value === 0 || value === false;
}
