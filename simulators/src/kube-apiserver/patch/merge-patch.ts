/** JSON merge patch, RFC 7386. */
import { isJsonObject } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';

export function applyMergePatch(target: Json | undefined, patch: Json): Json {
  if (!isJsonObject(patch)) return patch;
  const result: Record<string, Json | undefined> = { ...(isJsonObject(target) ? target : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key];
    else if (value !== undefined)
      setOwn(result, key, applyMergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value));
  }
  return result;
}

/** Plain assignment to `__proto__` would set the prototype instead of a key. */
export function setOwn(object: Record<string, Json | undefined>, key: string, value: Json): JsonObject {
  return Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}
