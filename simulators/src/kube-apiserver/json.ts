/**
 * JSON values as the simulator holds them: immutable, and read through small accessors that never throw. A field that is absent
 * or of another type reads as the empty value, which is what a printer column or a selector wants.
 */

export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

type Path = readonly (string | number)[];

const emptyObject: JsonObject = Object.freeze({});
const emptyList: readonly Json[] = Object.freeze([]);

/** Parses text that must be JSON. Throws SyntaxError. JSON.parse makes nothing but Json, so this is where `unknown` ends. */
export function parseJson(text: string): Json {
  return JSON.parse(text) as Json;
}

export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !isJsonList(value);
}

/** Array.isArray does not narrow readonly arrays away; this does. */
export function isJsonList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

export function at(value: Json | undefined, ...path: Path): Json | undefined {
  let found = value;
  for (const step of path) {
    if (isJsonList(found) && typeof step === 'number') found = found[step];
    else if (isJsonObject(found) && typeof step === 'string')
      found = Object.hasOwn(found, step) ? found[step] : undefined;
    else return undefined;
  }
  return found;
}

export function textAt(value: Json | undefined, ...path: Path): string {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : '';
}

export function numberAt(value: Json | undefined, ...path: Path): number | undefined {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : undefined;
}

export function listAt(value: Json | undefined, ...path: Path): readonly Json[] {
  const found = at(value, ...path);
  return isJsonList(found) ? found : emptyList;
}

export function objectAt(value: Json | undefined, ...path: Path): JsonObject {
  const found = at(value, ...path);
  return isJsonObject(found) ? found : emptyObject;
}

/** Equal as JSON: key order is of no matter, and `undefined` is absent. */
export function equalJson(left: Json | undefined, right: Json | undefined): boolean {
  if (left === right) return true;
  if (isJsonList(left)) {
    return (
      isJsonList(right) &&
      left.length === right.length &&
      left.every((item, index) => equalJson(item, right[index]))
    );
  }
  if (!isJsonObject(left) || !isJsonObject(right)) return false;
  for (const key of new Set([...Object.keys(left), ...Object.keys(right)])) {
    if (!equalJson(left[key], right[key])) return false;
  }
  return true;
}

/** One text for all values that are equal, with null taken for absent: keys in order. For digests. */
export function canonicalText(value: Json): string {
  return JSON.stringify(value, (_key, child: Json) =>
    isJsonObject(child)
      ? Object.fromEntries(
          Object.entries(child)
            .filter(([, inner]) => inner !== null)
            .toSorted(([left], [right]) => (left < right ? -1 : 1)),
        )
      : child,
  );
}

/** Freezes all the way down, so that an object may be handed to any number of readers. */
export function freezeJson<T extends Json>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const child of Object.values(value)) if (child !== undefined) freezeJson(child);
    Object.freeze(value);
  }
  return value;
}
