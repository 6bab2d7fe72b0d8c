/** What every Kubernetes object has in common, and the one place where outside JSON becomes such an object. */
import { ApiError } from './api-error.ts';
import { isJsonObject, isJsonList } from './json.ts';
import type { Json, JsonObject } from './json.ts';

export interface StringMap {
  readonly [key: string]: string;
}

export interface OwnerReference extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta extends JsonObject {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: StringMap;
  readonly annotations?: StringMap;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly Json[];
}

export interface KubeObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta;
}

export function nameOf(object: KubeObject): string {
  return object.metadata.name ?? '';
}

/** Empty for cluster-scoped objects. */
export function namespaceOf(object: KubeObject): string {
  return object.metadata.namespace ?? '';
}

export function labelsOf(object: KubeObject): StringMap {
  return object.metadata.labels ?? {};
}

export function withMeta(object: KubeObject, meta: ObjectMeta): KubeObject {
  return { ...object, metadata: { ...object.metadata, ...meta } };
}

/** With this list in its metadata; an empty one is left out, as the real server does. */
export function withMetaList(
  object: KubeObject,
  lists: Pick<ObjectMeta, 'finalizers' | 'ownerReferences'>,
): KubeObject {
  const replaced = Object.entries(lists).filter(([, list]) => list.length > 0);
  const others = Object.entries(object.metadata).filter(([field]) => !Object.hasOwn(lists, field));
  return { ...object, metadata: Object.fromEntries([...others, ...replaced]) };
}

/** Reads a body as an object; throws BadRequest for anything that a decoder of the real server would refuse. */
export function parseKubeObject(
  value: Json | undefined,
  fallback?: { apiVersion: string; kind: string },
): KubeObject {
  if (!isJsonObject(value))
    throw ApiError.badRequest('the object provided is unrecognized (must be a JSON object)');
  const apiVersion = value['apiVersion'] ?? fallback?.apiVersion;
  const kind = value['kind'] ?? fallback?.kind;
  if (typeof kind !== 'string' || kind === '') throw ApiError.badRequest("Object 'Kind' is missing");
  if (typeof apiVersion !== 'string' || apiVersion === '')
    throw ApiError.badRequest("Object 'apiVersion' is missing");
  return { ...value, apiVersion, kind, metadata: parseMeta(value['metadata']) };
}

function parseMeta(value: Json | undefined): ObjectMeta {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw unmarshal('metadata', 'ObjectMeta');
  for (const field of ['name', 'generateName', 'namespace', 'uid', 'resourceVersion']) {
    const found = value[field];
    if (found !== undefined && found !== null && typeof found !== 'string')
      throw unmarshal(`metadata.${field}`, 'string');
  }
  for (const field of ['labels', 'annotations']) checkStringMap(value[field], `metadata.${field}`);
  const finalizers = value['finalizers'];
  if (finalizers !== undefined && finalizers !== null && !isJsonList(finalizers))
    throw unmarshal('metadata.finalizers', '[]string');
  // Checked field by field above; what is left untyped stays as it came.
  return Object.fromEntries(
    Object.entries(value).filter(([, child]) => child !== null && child !== undefined),
  ) as ObjectMeta;
}

function checkStringMap(value: Json | undefined, path: string): void {
  if (value === undefined || value === null) return;
  if (!isJsonObject(value)) throw unmarshal(path, 'map[string]string');
  for (const child of Object.values(value)) {
    if (typeof child !== 'string') throw unmarshal(path, 'string');
  }
}

function unmarshal(path: string, type: string): ApiError {
  return ApiError.badRequest(`json: cannot unmarshal value into Go struct field .${path} of type ${type}`);
}
