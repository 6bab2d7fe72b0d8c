/** Schemas as OpenAPI v3 writes them: those with a name stand by themselves, and others refer to them. */
import type { Json, JsonObject } from '../json.ts';
import type { Schema, ValueRules } from '../schema/schema.ts';

/** By name; filled by `toOpenApi`. */
export type Components = Map<string, JsonObject>;

/** What stands where a value of this schema is described. */
function toOpenApi(schema: Schema, components: Components): JsonObject {
  const { name, default: fallback } = schema;
  if (name === undefined) return { ...described(schema.description), ...bodyOf(schema, components) };
  const description = schema.description === typeText(schema) ? undefined : schema.description;
  register(name, schema, components);
  const reference = { $ref: `#/components/schemas/${name}` };
  if (description === undefined && fallback === undefined) return reference;
  return {
    ...described(description),
    ...(fallback === undefined ? {} : { default: fallback }),
    allOf: [reference],
  };
}

/** A schema that stands by itself, with `more` about it. */
export function register(name: string, schema: Schema, components: Components, more: JsonObject = {}): void {
  if (components.has(name)) return;
  // It is in before its parts are, so that a type within itself comes to an end.
  components.set(name, {});
  const { default: _, ...type } = schema;
  components.set(name, {
    ...described(typeText(schema)),
    ...bodyOf(type, components),
    ...more,
  });
}

function typeText({ typeDescription, description }: Schema): string | undefined {
  return typeDescription ?? description;
}

function described(description: string | undefined): JsonObject {
  return description === undefined || description === '' ? {} : { description };
}

function bodyOf(schema: Schema, components: Components): JsonObject {
  const { type, format, properties, required, additionalProperties, items, rules } = schema;
  return present({
    type: schema.intOrString === true ? undefined : type,
    format,
    nullable: schema.nullable,
    default: schema.default,
    properties:
      properties === undefined
        ? undefined
        : Object.fromEntries(
            Object.entries(properties).map(([key, child]) => [key, toOpenApi(child, components)]),
          ),
    required,
    additionalProperties:
      additionalProperties === undefined ? undefined : toOpenApi(additionalProperties, components),
    items: items === undefined ? undefined : toOpenApi(items, components),
    ...(schema.intOrString === true && schema.name !== undefined
      ? { oneOf: [{ type: 'integer' }, { type: 'string' }] }
      : {}),
    ...(rules === undefined ? {} : rulesOf(rules, components)),
    'x-kubernetes-int-or-string': schema.intOrString === true && schema.name === undefined ? true : undefined,
    'x-kubernetes-preserve-unknown-fields': schema.preserveUnknownFields,
    'x-kubernetes-embedded-resource': schema.embeddedResource,
    'x-kubernetes-list-type': schema.listType,
    'x-kubernetes-list-map-keys': schema.listMapKeys,
    'x-kubernetes-map-type': schema.mapType,
    ...(schema.mergeKey === undefined
      ? {}
      : {
          'x-kubernetes-patch-strategy': 'merge',
          ...(schema.mergeKey === '' ? {} : { 'x-kubernetes-patch-merge-key': schema.mergeKey }),
        }),
  });
}

function rulesOf({ allOf, anyOf, oneOf, not, ...plain }: ValueRules, components: Components): JsonObject {
  const all = (schemas: readonly Schema[] | undefined): readonly Json[] | undefined =>
    schemas?.map((schema) => toOpenApi(schema, components));
  return present({
    ...plain,
    allOf: all(allOf),
    anyOf: all(anyOf),
    oneOf: all(oneOf),
    not: not === undefined ? undefined : toOpenApi(not, components),
  });
}

function present(fields: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
