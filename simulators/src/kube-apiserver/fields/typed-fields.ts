/**
 * Fields of a value with its schema (sigs.k8s.io/structured-merge-diff): which there are, which differ between two values, one value
 * laid over another, and one with fields taken out.
 */
import { at, equalJson, isJsonList, isJsonObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { setOwn } from '../patch/merge-patch.ts';
import type { Schema } from '../schema/schema.ts';
import { noFields } from './field-set.ts';
import type { FieldNode, FieldSet } from './field-set.ts';

const leaf: FieldNode = { owned: true, children: noFields };
const anything: Schema = {};

/** The fields that a value sets. */
export function fieldsOf(value: Json, schema: Schema): FieldSet {
  return nodeOf(value, schema).children;
}

function nodeOf(value: Json, schema: Schema): FieldNode {
  const parts = partsOf(value, schema);
  if (parts === undefined) return leaf;
  const children = new Map<string, FieldNode>();
  for (const [element, part] of parts) {
    const node = nodeOf(part.value, part.schema);
    const owned = node.owned || !part.declared || isEmpty(part.value);
    if (owned || node.children.size > 0) children.set(element, { owned, children: node.children });
  }
  return { owned: false, children };
}

export interface Comparison {
  readonly added: FieldSet;
  readonly modified: FieldSet;
  readonly removed: FieldSet;
}

export function compareFields(before: Json, after: Json, schema: Schema): Comparison {
  const found = compareNode(before, after, schema);
  return { added: found.added.children, modified: found.modified.children, removed: found.removed.children };
}

interface NodeComparison {
  readonly added: FieldNode;
  readonly modified: FieldNode;
  readonly removed: FieldNode;
}

const nothing: FieldNode = { owned: false, children: noFields };

function compareNode(before: Json, after: Json, schema: Schema): NodeComparison {
  const [old, next] = comparable(before, after, schema);
  if (old === undefined || next === undefined || (old.size === 0 && next.size === 0)) {
    const modified = equalJson(before, after) ? nothing : leaf;
    return { added: nothing, modified, removed: nothing };
  }
  const added = new Map<string, FieldNode>();
  const modified = new Map<string, FieldNode>();
  const removed = new Map<string, FieldNode>();
  const put = (set: Map<string, FieldNode>, element: string, node: FieldNode): void => {
    if (node.owned || node.children.size > 0) set.set(element, node);
  };
  for (const element of new Set([...old.keys(), ...next.keys()])) {
    const [mine, theirs] = [old.get(element), next.get(element)];
    if (mine === undefined && theirs !== undefined)
      put(added, element, wholeNode(theirs.value, theirs.schema));
    else if (mine !== undefined && theirs === undefined)
      put(removed, element, wholeNode(mine.value, mine.schema));
    else if (mine !== undefined && theirs !== undefined && mine.value !== theirs.value) {
      const inner = compareNode(mine.value, theirs.value, theirs.schema);
      put(added, element, inner.added);
      put(modified, element, inner.modified);
      put(removed, element, inner.removed);
    }
  }
  const node = (children: FieldSet): FieldNode => ({ owned: false, children });
  return { added: node(added), modified: node(modified), removed: node(removed) };
}

/** Null is an empty map or list where the other side has one. */
function comparable(
  before: Json,
  after: Json,
  schema: Schema,
): readonly [Parts | undefined, Parts | undefined] {
  const old = partsOf(before, schema);
  const next = partsOf(after, schema);
  return [
    old ?? (before === null && next ? new Map() : old),
    next ?? (after === null && old ? new Map() : next),
  ];
}

/** A value that came or went as a whole, containers included. */
function wholeNode(value: Json, schema: Schema): FieldNode {
  const parts = partsOf(value, schema) ?? new Map<string, Part>();
  return {
    owned: true,
    children: new Map([...parts].map(([element, part]) => [element, wholeNode(part.value, part.schema)])),
  };
}

/** `over` wins where it says something; lists that are merged come in its order, with what only `base` has in between. */
export function mergeFields(base: Json | undefined, over: Json, schema: Schema): Json {
  if (base === undefined || base === null) return over;
  const old = partsOf(base, schema);
  const next = partsOf(over, schema);
  if (old === undefined || next === undefined) return over;
  if (isJsonObject(base)) {
    const result = { ...base };
    for (const [element, part] of next)
      setOwn(result, element.slice(2), mergeFields(old.get(element)?.value, part.value, part.schema));
    return result;
  }
  return mergeItems(old, next);
}

function mergeItems(old: Parts, next: Parts): Json {
  const result: Json[] = [];
  const rest = [...old.keys()];
  for (const [element, part] of next) {
    while (rest[0] !== undefined && !next.has(rest[0]))
      result.push(old.get(rest.shift() ?? '')?.value ?? null);
    result.push(mergeFields(old.get(element)?.value, part.value, part.schema));
    const position = rest.indexOf(element);
    if (position === 0) rest.shift();
  }
  for (const element of rest) if (!next.has(element)) result.push(old.get(element)?.value ?? null);
  return result;
}

/** Takes out the fields of the set; a map that has nothing left goes too. */
export function removeFields(value: Json, gone: FieldSet, schema: Schema): Json | undefined {
  if (gone.size === 0) return value;
  const parts = partsOf(value, schema);
  if (parts === undefined) return value;
  const kept: (readonly [element: string, value: Json])[] = [];
  for (const [element, part] of parts) {
    const node = gone.get(element);
    if (node?.owned === true) continue;
    const left = node === undefined ? part.value : removeFields(part.value, node.children, part.schema);
    if (left !== undefined) kept.push([element, left]);
  }
  if (kept.length === 0 && parts.size > 0) return undefined;
  return isJsonObject(value)
    ? Object.fromEntries(kept.map(([element, child]) => [element.slice(2), child]))
    : kept.map(([, child]) => child);
}

interface Part {
  readonly value: Json;
  readonly schema: Schema;
  /** A field of a struct, in contrast to an entry of a map or an item of a list. */
  readonly declared: boolean;
}

type Parts = ReadonlyMap<string, Part>;

/** By path element; undefined for what is changed as a whole only. */
function partsOf(value: Json, schema: Schema): Parts | undefined {
  if (isJsonObject(value)) return schema.mapType === 'atomic' ? undefined : fieldParts(value, schema);
  if (!isJsonList(value)) return undefined;
  const { items = anything, listType, listMapKeys = [] } = schema;
  if (listType === 'set')
    return new Map(
      value.map((item) => [`v:${JSON.stringify(item)}`, { value: item, schema: items, declared: false }]),
    );
  if (listType !== 'map') return undefined;
  return new Map(
    value.map((item) => [
      keyElement(item, items, listMapKeys),
      { value: item, schema: items, declared: false },
    ]),
  );
}

function fieldParts(value: JsonObject, { properties, additionalProperties }: Schema): Parts {
  const parts = new Map<string, Part>();
  for (const [name, child] of Object.entries(value)) {
    if (child === undefined) continue;
    const own = properties !== undefined && Object.hasOwn(properties, name) ? properties[name] : undefined;
    const schema = own ?? additionalProperties ?? anything;
    parts.set(`f:${name}`, { value: child, schema, declared: own !== undefined });
  }
  return parts;
}

function keyElement(item: Json, schema: Schema, keys: readonly string[]): string {
  const pairs = keys.toSorted().flatMap((key) => {
    const value = at(item, key) ?? schema.properties?.[key]?.default;
    return value === undefined ? [] : [[key, value] as const];
  });
  return `k:${JSON.stringify(Object.fromEntries(pairs))}`;
}

function isEmpty(value: Json): boolean {
  return value === null || (isJsonObject(value) && Object.keys(value).length === 0);
}

/** An object of a kind before anything is set: structs by value are there, as in Go. */
export function emptyValue(schema: Schema): JsonObject {
  const fields = Object.entries(schema.properties ?? {}).flatMap(([name, child]): [string, Json][] => {
    if (child.properties !== undefined && child.default !== undefined) return [[name, emptyValue(child)]];
    const needed = schema.required?.includes(name) === true;
    return needed && (child.type === 'array' || child.type === 'object') ? [[name, null]] : [];
  });
  return Object.fromEntries(fields);
}
