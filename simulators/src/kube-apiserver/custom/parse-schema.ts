/** The `openAPIV3Schema` of a CustomResourceDefinition as a schema of ours. */
import { at, isJsonList, isJsonObject, listAt, objectAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Schema, ValueRules } from '../schema/schema.ts';

const types = ['object', 'array', 'string', 'integer', 'number', 'boolean'] as const;

/** The deepest schema of a person is far from it. */
const maxDepth = 64;

/** What is not understood is left out. */
export function parseSchema(given: Json | undefined, depth = 0): Schema {
  if (!isJsonObject(given) || depth > maxDepth) return {};
  const inner = (child: Json | undefined): Schema => parseSchema(child, depth + 1);
  const flag = (name: string): boolean => given[`x-kubernetes-${name}`] === true;
  const properties = at(given, 'properties');
  const additional = at(given, 'additionalProperties');
  const rules = parseRules(given, inner);
  return defined({
    description: text(given, 'description'),
    type: types.find((type) => type === given['type']),
    format: text(given, 'format'),
    nullable: given['nullable'] === true ? true : undefined,
    default: given['default'],
    properties: isJsonObject(properties)
      ? Object.fromEntries(Object.entries(properties).map(([key, child]) => [key, inner(child)]))
      : undefined,
    required: strings(given, 'required'),
    additionalProperties: additional === undefined || additional === false ? undefined : inner(additional),
    items: given['items'] === undefined ? undefined : inner(given['items']),
    intOrString: flag('int-or-string') ? true : undefined,
    preserveUnknownFields: flag('preserve-unknown-fields') ? true : undefined,
    embeddedResource: flag('embedded-resource') ? true : undefined,
    listType: (['atomic', 'map', 'set'] as const).find((type) => type === given['x-kubernetes-list-type']),
    listMapKeys: strings(given, 'x-kubernetes-list-map-keys'),
    mapType: (['atomic', 'granular'] as const).find((type) => type === given['x-kubernetes-map-type']),
    rules: Object.keys(rules).length === 0 ? undefined : rules,
  });
}

const numbers = [
  'minimum',
  'maximum',
  'multipleOf',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
] as const;

const flags = ['exclusiveMinimum', 'exclusiveMaximum', 'uniqueItems'] as const;

const combinations = ['allOf', 'anyOf', 'oneOf'] as const;

function parseRules(given: JsonObject, inner: (child: Json) => Schema): ValueRules {
  const choices = given['enum'];
  return defined({
    enum: isJsonList(choices) ? choices : undefined,
    pattern: text(given, 'pattern'),
    not: isJsonObject(given['not']) ? inner(given['not']) : undefined,
    ...Object.fromEntries(numbers.map((name) => [name, number(given, name)])),
    ...Object.fromEntries(flags.map((name) => [name, given[name] === true ? true : undefined])),
    ...Object.fromEntries(
      combinations.map((name) => [
        name,
        given[name] === undefined ? undefined : listAt(given, name).map(inner),
      ]),
    ),
  });
}

function text(given: JsonObject, field: string): string | undefined {
  const value = given[field];
  return typeof value === 'string' ? value : undefined;
}

function number(given: JsonObject, field: string): number | undefined {
  const value = given[field];
  return typeof value === 'number' ? value : undefined;
}

function strings(given: JsonObject, field: string): readonly string[] | undefined {
  const found = listAt(given, field).filter((item) => typeof item === 'string');
  return found.length === 0 ? undefined : found;
}

type Defined<T> = { readonly [K in keyof T]?: Exclude<T[K], undefined> };

function defined<T extends object>(fields: T): Defined<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
}

/** Whether the schema says a type everywhere, as a structural one has to; else where it does not. */
export function untypedPaths(given: Json | undefined, path: string): readonly string[] {
  const schema = objectAt(given);
  const free =
    schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
  const own = free || typeof schema['type'] === 'string' ? [] : [`${path}.type`];
  const properties = Object.entries(objectAt(schema, 'properties')).flatMap(([name, child]) =>
    untypedPaths(child, `${path}.properties[${name}]`),
  );
  const items = schema['items'] === undefined ? [] : untypedPaths(schema['items'], `${path}.items`);
  const additional = schema['additionalProperties'];
  const values = isJsonObject(additional) ? untypedPaths(additional, `${path}.additionalProperties`) : [];
  return [...own, ...properties, ...items, ...values];
}
