/**
 * Strategic merge patch: a merge patch that knows which lists are sets (k8s.io/apimachinery/pkg/util/strategicpatch). Directives:
 * `$patch: replace|delete|merge`, `$retainKeys`, `$deleteFromPrimitiveList/<field>`, `$setElementOrder/<field>`.
 */
import { ApiError } from '../api-error.ts';
import { at, equalJson, isJsonList, isJsonObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { setOwn } from './merge-patch.ts';
import type { MergeSchema } from './merge-schema.ts';

const deleteFromPrefix = '$deleteFromPrimitiveList/';
const orderPrefix = '$setElementOrder/';

/** Throws BadRequest for a patch that breaks the rules of its directives. */
export function applyStrategicMergePatch(
  target: Json | undefined,
  patch: JsonObject,
  schema: MergeSchema,
): JsonObject {
  const base = isJsonObject(target) ? target : {};
  switch (patch['$patch']) {
    case 'replace':
      return withoutDirectives(patch);
    case 'delete':
      return {};
    default:
      return mergeFields(base, patch, schema);
  }
}

function mergeFields(base: JsonObject, patch: JsonObject, schema: MergeSchema): JsonObject {
  const result: Record<string, Json | undefined> = retained(base, patch);
  for (const [key, value] of Object.entries(patch)) {
    if (value === undefined || key === '$patch' || key === '$retainKeys') continue;
    if (key.startsWith(deleteFromPrefix)) {
      const field = key.slice(deleteFromPrefix.length);
      const present = at(result, field);
      if (isJsonList(present))
        setOwn(
          result,
          field,
          present.filter((item) => !isJsonList(value) || !value.some((gone) => equalJson(gone, item))),
        );
    } else if (!key.startsWith(orderPrefix)) {
      const own = Object.hasOwn(result, key) ? result[key] : undefined;
      if (value === null) delete result[key];
      else setOwn(result, key, mergeValue(own, value, fieldSchema(schema, key), key));
    }
  }
  for (const [key, order] of Object.entries(patch)) {
    if (!key.startsWith(orderPrefix) || !isJsonList(order)) continue;
    const field = key.slice(orderPrefix.length);
    const present = at(result, field);
    if (isJsonList(present))
      setOwn(result, field, inOrder(present, order, patch[field], fieldSchema(schema, field)));
  }
  return result;
}

function mergeValue(own: Json | undefined, value: Json, schema: MergeSchema, field: string): Json {
  if (isJsonObject(value)) return applyStrategicMergePatch(own, value, schema);
  if (!isJsonList(value)) return value;
  if (value.some((item) => at(item, '$patch') === 'replace')) {
    return value
      .filter((item) => at(item, '$patch') !== 'replace' || Object.keys(item as JsonObject).length > 1)
      .map(strip);
  }
  if (schema.mergeKey === undefined) return value;
  const present = isJsonList(own) ? own : [];
  return schema.mergeKey === ''
    ? union(present, value)
    : mergeByKey(present, value, schema, schema.mergeKey, field);
}

function mergeByKey(
  present: readonly Json[],
  patch: readonly Json[],
  schema: MergeSchema,
  mergeKey: string,
  field: string,
): readonly Json[] {
  let result = [...present];
  for (const item of patch) {
    if (!isJsonObject(item)) throw ApiError.badRequest(`expected a list of objects in ${field}`);
    const key = item[mergeKey];
    if (key === undefined)
      throw ApiError.badRequest(
        `map: ${JSON.stringify(item)} does not contain declared merge key: ${mergeKey}`,
      );
    const position = result.findIndex((other) => equalJson(at(other, mergeKey), key));
    if (item['$patch'] === 'delete') result = result.filter((other) => !equalJson(at(other, mergeKey), key));
    else if (position < 0) result.push(applyStrategicMergePatch({}, item, { ...schema }));
    else result[position] = applyStrategicMergePatch(result[position], item, schema);
  }
  return result;
}

function union(present: readonly Json[], added: readonly Json[]): readonly Json[] {
  return [...present, ...added.filter((item) => !present.some((other) => equalJson(other, item)))];
}

/** Items that the order names come in that order; others keep their place relative to the neighbour they followed. */
function inOrder(
  present: readonly Json[],
  order: readonly Json[],
  patched: Json | undefined,
  schema: MergeSchema,
): readonly Json[] {
  const identity = (item: Json): Json =>
    schema.mergeKey === undefined || schema.mergeKey === '' ? item : (at(item, schema.mergeKey) ?? null);
  const rank = (item: Json): number =>
    order.findIndex((wanted) => equalJson(identity(wanted), identity(item)));
  const ordered = present
    .filter((item) => rank(item) >= 0)
    .toSorted((left, right) => rank(left) - rank(right));
  const others = present.filter((item) => rank(item) < 0);
  if (others.length === 0 || ordered.length === 0) return [...ordered, ...others];
  const fresh = isJsonList(patched) ? patched.map(identity) : [];
  const before = new Map(present.map((item, index) => [item, index]));
  const result: Json[] = [];
  for (const item of ordered) {
    // An item that the patch brought in has no old place to compare with.
    const old = fresh.some((key) => equalJson(key, identity(item)))
      ? Number.POSITIVE_INFINITY
      : (before.get(item) ?? Number.POSITIVE_INFINITY);
    while (others[0] !== undefined && (before.get(others[0]) ?? 0) < old && Number.isFinite(old))
      result.push(others.shift() ?? null);
    result.push(item);
  }
  return [...result, ...others];
}

function retained(base: JsonObject, patch: JsonObject): Record<string, Json | undefined> {
  const keep = patch['$retainKeys'];
  if (!isJsonList(keep)) return { ...base };
  return Object.fromEntries(Object.entries(base).filter(([key]) => keep.includes(key)));
}

function fieldSchema({ fields }: MergeSchema, key: string): MergeSchema {
  return (fields !== undefined && Object.hasOwn(fields, key) ? fields[key] : undefined) ?? {};
}

function strip(item: Json): Json {
  return isJsonObject(item) ? withoutDirectives(item) : item;
}

function withoutDirectives(patch: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(patch)
      .filter(
        ([key, value]) =>
          value !== null &&
          key !== '$patch' &&
          key !== '$retainKeys' &&
          !key.startsWith(deleteFromPrefix) &&
          !key.startsWith(orderPrefix),
      )
      .map(([key, value]) => [key, isJsonObject(value) ? withoutDirectives(value) : value]),
  );
}
