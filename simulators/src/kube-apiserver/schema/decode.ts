/**
 * Reads JSON as a value of a schema, as the decoder of the real server does: what is not declared is left out and named, null is
 * absent, and a value of another type is refused.
 */
import { ApiError } from '../api-error.ts';
import { isJsonList, isJsonObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { KubeObject, ObjectMeta } from '../kube-object.ts';
import type { Schema } from './schema.ts';

export interface Decoded {
  readonly object: KubeObject;
  /** Paths of fields that the schema does not have, like `spec.containers[0].imag`. */
  readonly unknownFields: readonly string[];
}

/** Throws BadRequest for a value of the wrong type. */
export function decodeTyped(object: KubeObject, schema: Schema): Decoded {
  const unknownFields: string[] = [];
  const decoded = decodeFields(object, schema, { path: '', goPath: '', struct: '', unknownFields });
  const { apiVersion, kind } = object;
  return {
    object: {
      ...decoded,
      apiVersion,
      kind,
      metadata: (decoded['metadata'] ?? {}) as ObjectMeta,
    },
    unknownFields,
  };
}

interface Place {
  /** With indexes, for people. */
  readonly path: string;
  /** Names of fields only, as Go tells it. */
  readonly goPath: string;
  /** The innermost type around. */
  readonly struct: string;
  readonly unknownFields: string[];
}

function decodeFields(value: JsonObject, schema: Schema, place: Place): JsonObject {
  const { properties = {}, additionalProperties } = schema;
  const struct = schema.name?.split('.').at(-1) ?? place.struct;
  const entries = Object.entries(value).flatMap(([key, child]) => {
    const declared = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
    const path = place.path === '' ? key : `${place.path}.${key}`;
    if (child === null || child === undefined) {
      if (declared === undefined) place.unknownFields.push(path);
      return [];
    }
    if (declared === undefined) {
      place.unknownFields.push(path);
      return [];
    }
    const goPath = declared === additionalProperties ? place.goPath : `${place.goPath}.${key}`;
    const inner = { path, goPath, struct, unknownFields: place.unknownFields };
    return [[key, decodeValue(child, declared, inner)] as const];
  });
  return Object.fromEntries(entries);
}

function decodeValue(value: Json, schema: Schema, place: Place): Json {
  if (schema.intOrString === true) {
    if (typeof value === 'number' || typeof value === 'string') return value;
    throw mistyped(value, schema, place);
  }
  switch (schema.type) {
    case undefined:
      return value;
    case 'object':
      if (!isJsonObject(value)) throw mistyped(value, schema, place);
      return schema.preserveUnknownFields === true ? value : decodeFields(value, schema, place);
    case 'array': {
      if (!isJsonList(value)) throw mistyped(value, schema, place);
      const { items = {} } = schema;
      return value.map((item, index) => {
        return decodeValue(item, items, { ...place, path: `${place.path}[${index}]` });
      });
    }
    case 'integer':
      if (typeof value !== 'number' || !Number.isInteger(value)) throw mistyped(value, schema, place);
      return value;
    case 'string':
      if (typeof value !== 'string') throw mistyped(value, schema, place);
      if (schema.format === 'byte' && !base64.test(value))
        throw ApiError.badRequest('illegal base64 data at input byte 0');
      return value;
    default:
      if (typeof value !== schema.type) throw mistyped(value, schema, place);
      return value;
  }
}

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function mistyped(value: Json, schema: Schema, place: Place): ApiError {
  return ApiError.badRequest(
    `json: cannot unmarshal ${jsonType(value)} into Go struct field ${place.struct}${place.goPath} of type ${goType(schema)}`,
  );
}

function jsonType(value: Json): string {
  if (isJsonList(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

function goType(schema: Schema): string {
  switch (schema.type) {
    case 'integer':
      return schema.format ?? 'int64';
    case 'boolean':
      return 'bool';
    case 'number':
      return 'float64';
    case 'array':
      return `[]${goType(schema.items ?? {})}`;
    case 'object':
      return schema.name === undefined ? 'map[string]string' : schema.name.split('.').slice(-2).join('.');
    default:
      return 'string';
  }
}
