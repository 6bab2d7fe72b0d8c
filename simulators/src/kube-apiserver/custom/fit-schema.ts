/** A custom resource as its schema has it: without fields that are not declared, and with the defaults of those that are missing. */
import { isJsonList, isJsonObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { setOwn } from '../patch/merge-patch.ts';
import type { Schema } from '../schema/schema.ts';

/** Fields of every object, which a schema need not declare. */
const always: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

/** `unknown` gets the paths of what is left out. */
export function pruneUnknown(value: JsonObject, schema: Schema, unknown: string[]): JsonObject {
  return pruneObject(value, schema, '', unknown, true);
}

function prune(value: Json, schema: Schema, path: string, unknown: string[]): Json {
  if (isJsonObject(value)) return pruneObject(value, schema, path, unknown, schema.embeddedResource === true);
  const { items } = schema;
  if (!isJsonList(value) || items === undefined) return value;
  return value.map((item, index) => prune(item, items, `${path}[${index}]`, unknown));
}

function pruneObject(
  value: JsonObject,
  schema: Schema,
  path: string,
  unknown: string[],
  whole: boolean,
): JsonObject {
  const { properties = {}, additionalProperties, preserveUnknownFields } = schema;
  const result: Record<string, Json | undefined> = {};
  for (const [key, child] of Object.entries(value)) {
    if (child === undefined) continue;
    const inner = path === '' ? key : `${path}.${key}`;
    if (whole && always.has(key)) setOwn(result, key, child);
    else if (Object.hasOwn(properties, key))
      setOwn(result, key, prune(child, properties[key] ?? {}, inner, unknown));
    else if (additionalProperties !== undefined)
      setOwn(result, key, prune(child, additionalProperties, inner, unknown));
    else if (preserveUnknownFields === true) setOwn(result, key, child);
    else unknown.push(inner);
  }
  return result;
}

/** Null counts as missing where there is a default and null is not allowed. */
export function withDefaults(value: Json, schema: Schema): Json {
  if (isJsonList(value)) {
    const { items } = schema;
    return items === undefined ? value : value.map((item) => withDefaults(item, items));
  }
  if (!isJsonObject(value)) return value;
  const { properties = {}, additionalProperties } = schema;
  const result: Record<string, Json | undefined> = { ...value };
  for (const [key, child] of Object.entries(properties)) {
    const own = Object.hasOwn(value, key) ? value[key] : undefined;
    const missing = own === undefined || (own === null && child.nullable !== true);
    const given = missing ? (child.default ?? own) : own;
    if (given !== undefined) setOwn(result, key, withDefaults(given, child));
  }
  if (additionalProperties !== undefined)
    for (const [key, child] of Object.entries(value))
      if (child !== undefined && !Object.hasOwn(properties, key))
        setOwn(result, key, withDefaults(child, additionalProperties));
  return result;
}
