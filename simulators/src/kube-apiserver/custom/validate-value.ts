/** A value against its schema, in the words of the real server's validation (k8s.io/kube-openapi, k8s.io/apiextensions-apiserver). */
import type { StatusCause } from '../api-error.ts';
import { at, canonicalText, isJsonList, isJsonObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Schema, ValueRules } from '../schema/schema.ts';
import { validateRules } from './validate-rules.ts';

export function validateValue(value: Json, schema: Schema, path: string): readonly StatusCause[] {
  if (value === null && (schema.nullable === true || schema.type === undefined)) return [];
  const mistyped = typeCause(value, schema, path);
  if (mistyped !== undefined) return [mistyped];
  return [
    ...validateRules(value, schema, path),
    ...combined(value, schema.rules ?? {}, path),
    ...(isJsonObject(value) ? validateFields(value, schema, path) : []),
    ...(isJsonList(value) ? validateItems(value, schema, path) : []),
  ];
}

function validateFields(value: JsonObject, schema: Schema, path: string): readonly StatusCause[] {
  const { properties = {}, required = [], additionalProperties } = schema;
  const missing = required
    .filter((name) => at(value, name) === undefined)
    .map((name): StatusCause => ({
      reason: 'FieldValueRequired',
      message: 'Required value',
      field: join(path, name),
    }));
  const inner = Object.entries(value).flatMap(([name, child]) => {
    const declared = Object.hasOwn(properties, name) ? properties[name] : additionalProperties;
    return declared === undefined || child === undefined
      ? []
      : validateValue(child, declared, join(path, name));
  });
  return [...missing, ...inner];
}

function validateItems(value: readonly Json[], schema: Schema, path: string): readonly StatusCause[] {
  const { items, listType, listMapKeys = [] } = schema;
  const inner =
    items === undefined
      ? []
      : value.flatMap((item, index) => validateValue(item, items, `${path}[${index}]`));
  if (listType !== 'map' && listType !== 'set') return inner;
  const seen = new Set<string>();
  const repeated = value.flatMap((item, index): StatusCause[] => {
    const identity: Json =
      listType === 'set'
        ? item
        : Object.fromEntries(
            listMapKeys.map((key) => [key, at(item, key) ?? items?.properties?.[key]?.default]),
          );
    const text = canonicalText(identity);
    if (!seen.has(text)) {
      seen.add(text);
      return [];
    }
    const message = `Duplicate value: ${text}`;
    return [{ reason: 'FieldValueDuplicate', message, field: `${path}[${index}]` }];
  });
  return [...inner, ...repeated];
}

function combined(value: Json, rules: ValueRules, path: string): readonly StatusCause[] {
  const { allOf = [], anyOf, oneOf, not } = rules;
  const holds = (schema: Schema): boolean => validateValue(value, schema, path).length === 0;
  const causes: StatusCause[] = [];
  const fail = (why: string): unknown => causes.push(invalid(path, typeName(value), `${told(path)} ${why}`));
  if (!allOf.every(holds)) fail('must validate all the schemas (allOf)');
  if (anyOf !== undefined && !anyOf.some(holds)) fail('must validate at least one schema (anyOf)');
  const matching = oneOf?.filter(holds).length ?? 1;
  if (matching !== 1)
    fail(
      `must validate one and only one schema (oneOf). Found ${matching === 0 ? 'none valid' : `${matching} valid alternatives`}`,
    );
  if (not !== undefined && holds(not)) fail('must not validate the schema (not)');
  return causes;
}

function typeCause(value: Json, schema: Schema, path: string): StatusCause | undefined {
  const is = typeName(value);
  const wanted = schema.intOrString === true ? 'integer,string' : schema.type;
  const fits =
    wanted === undefined || wanted.split(',').includes(is) || (wanted === 'number' && is === 'integer');
  if (fits) return undefined;
  const message = `Invalid value: ${JSON.stringify(is)}: ${told(path)} must be of type ${wanted}: ${JSON.stringify(is)}`;
  return { reason: 'FieldValueTypeInvalid', message, field: path || '<nil>' };
}

function typeName(value: Json): string {
  if (value === null) return 'null';
  if (isJsonList(value)) return 'array';
  return typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;
}

function invalid(path: string, value: Json, why: string): StatusCause {
  return {
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${JSON.stringify(value)}: ${why}`,
    field: path || '<nil>',
  };
}

function told(path: string): string {
  return `${path} in body`.trimStart();
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
