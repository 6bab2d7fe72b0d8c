/**
 * The shape of a kind: what a request may say, what belongs to whom in a list or a map, and what OpenAPI tells of it. One source
 * for decoding, defaulting of custom resources, strategic merge, server-side apply and `kubectl explain`.
 */
import type { Json } from '../json.ts';

export interface Schema {
  /** In OpenAPI, like `io.k8s.api.core.v1.Container`; without it the schema is written where it is used. */
  readonly name?: string;
  readonly description?: string;
  /** Of the type, where `description` is of one field of that type. */
  readonly typeDescription?: string;
  /** Undefined: anything, or what `intOrString` says. */
  readonly type?: 'object' | 'array' | 'string' | 'integer' | 'number' | 'boolean';
  readonly format?: string;
  readonly nullable?: boolean;
  readonly default?: Json;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  /** Of a map: the schema of its values. */
  readonly additionalProperties?: Schema;
  readonly items?: Schema;
  readonly intOrString?: boolean;
  /** Fields that are not declared are kept as they are. */
  readonly preserveUnknownFields?: boolean;
  /** A whole object with apiVersion, kind and metadata. */
  readonly embeddedResource?: boolean;
  /** Default: atomic. */
  readonly listType?: 'atomic' | 'map' | 'set';
  readonly listMapKeys?: readonly string[];
  /** Default: granular. */
  readonly mapType?: 'atomic' | 'granular';
  /** Strategic merge patch merges this list by that key of its items, or as a set of values when it is empty. */
  readonly mergeKey?: string;
  readonly rules?: ValueRules;
}

/** Of JSON Schema, for custom resources. */
export interface ValueRules {
  readonly enum?: readonly Json[];
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: boolean;
  readonly exclusiveMaximum?: boolean;
  readonly multipleOf?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly not?: Schema;
}

type Properties = Readonly<Record<string, Schema>>;

/** A struct. `required`: names of its fields that have to be there. */
export function struct(
  name: string,
  description: string,
  required: readonly string[],
  properties: Properties,
): Schema {
  return {
    name,
    description,
    type: 'object',
    properties,
    ...(required.length === 0 ? {} : { required }),
  };
}

export function text(description: string, more: Partial<Schema> = {}): Schema {
  return { type: 'string', description, ...more };
}

export function int32(description: string): Schema {
  return { type: 'integer', format: 'int32', description };
}

export function int64(description: string): Schema {
  return { type: 'integer', format: 'int64', description };
}

export function bool(description: string): Schema {
  return { type: 'boolean', description };
}

export function time(description: string): Schema {
  return {
    name: 'io.k8s.apimachinery.pkg.apis.meta.v1.Time',
    typeDescription: 'A point in time, to the second.',
    type: 'string',
    format: 'date-time',
    description,
  };
}

export function microTime(description: string): Schema {
  return {
    name: 'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime',
    typeDescription: 'A point in time, to the microsecond.',
    type: 'string',
    format: 'date-time',
    description,
  };
}

export function bytes(description: string): Schema {
  return { type: 'string', format: 'byte', description };
}

export function intOrString(description: string): Schema {
  return {
    name: 'io.k8s.apimachinery.pkg.util.intstr.IntOrString',
    typeDescription: 'A number, or a text that stands for one.',
    intOrString: true,
    format: 'int-or-string',
    description,
  };
}

/** `100m`, `2Gi`, or a plain number. */
export function quantity(description: string): Schema {
  return {
    name: 'io.k8s.apimachinery.pkg.api.resource.Quantity',
    typeDescription: 'An amount with a unit, like 100m or 2Gi.',
    intOrString: true,
    description,
  };
}

/** Of strings, unless told otherwise. */
export function mapOf(description: string, values: Schema = { type: 'string', default: '' }): Schema {
  return { type: 'object', description, additionalProperties: values };
}

/** Replaced as a whole. */
export function list(items: Schema, description: string): Schema {
  return { type: 'array', description, items, listType: 'atomic' };
}

export function texts(description: string): Schema {
  return list({ type: 'string', default: '' }, description);
}

/** Items are known by `keys`; strategic merge patch, which is older, knows them by the first. */
export function mapList(
  items: Schema,
  keys: readonly [string, ...string[]],
  description: string,
  mergeKey: string | undefined = keys[0],
): Schema {
  return {
    type: 'array',
    description,
    items,
    listType: 'map',
    listMapKeys: keys,
    ...(mergeKey === undefined ? {} : { mergeKey }),
  };
}

export function setList(items: Schema, description: string, mergeKey?: string): Schema {
  return {
    type: 'array',
    description,
    items,
    listType: 'set',
    ...(mergeKey === undefined ? {} : { mergeKey }),
  };
}

/** A field of this type, with what it means there; may be absent. */
export function field(type: Schema, description: string): Schema {
  return { ...type, description, ...ownDescription(type) };
}

/** A field that is always there, empty at least: a struct by value in Go. */
export function inline(type: Schema, description: string): Schema {
  return { ...type, description, ...ownDescription(type), default: {} };
}

function ownDescription({ typeDescription, description }: Schema): Partial<Schema> {
  const own = typeDescription ?? description;
  return own === undefined ? {} : { typeDescription: own };
}

/** Changed as a whole only. */
export function atomic(type: Schema): Schema {
  return { ...type, mapType: 'atomic' };
}
