/**
 * The Kubernetes API by verbs: objects of a `ResourceType` in, objects out, each checked for its shape. It opens nothing of its own:
 * what it sends goes over the identity that it was given, whose owner closes it.
 */

import type { Clock } from '@roundhouse/transport';
import { KubernetesError } from '../errors.ts';
import type { WatchEvent } from '../watch/watch-event.ts';
import { watch } from '../watch/watch-request.ts';
import type { WatchLimits } from '../watch/watch-request.ts';
import { ApiRequests } from './api-requests.ts';
import type { ApiAccess, ApiRequest } from './api-requests.ts';
import { isFields } from './fields.ts';
import { ShapeError, readKubeObject } from './kube-object.ts';
import type { KubeObject, ObjectManifest, ObjectName } from './kube-object.ts';
import { apiVersionOf, pathOf, qualifiedName } from './resource-type.ts';
import type { ResourceLocation, ResourceType } from './resource-type.ts';

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** From the call to the end of its answer; a replay starts anew. Default: the pool's. */
  readonly timeoutMs?: number | undefined;
}

export interface Selection {
  /** Undefined: all of them. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends Selection, CallOptions {
  /** Objects in one page. Default: no limit. */
  readonly limit?: number | undefined;
  /** Of the page before. */
  readonly continueToken?: string | undefined;
}

export interface ObjectList<Item extends KubeObject = KubeObject> {
  readonly items: readonly Item[];
  /** Of the whole list: a watch from here misses nothing. */
  readonly resourceVersion: string;
  /** Undefined: this was the last page. */
  readonly continueToken: string | undefined;
}

export interface WatchOptions extends Selection, WatchLimits {
  /** What has changed since then. Default: everything that is there comes first, as ADDED. */
  readonly resourceVersion?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface WriteOptions extends CallOptions {
  /** Who owns the fields that are written. Default: the server takes the user agent's name. */
  readonly fieldManager?: string | undefined;
  /** Everything is checked and nothing is kept. */
  readonly dryRun?: boolean | undefined;
  /** For instance `status`. */
  readonly subresource?: string | undefined;
}

/**
 * - `merge`: RFC 7386. - `json`: a list of operations, RFC 6902. - `apply`: the fields that its manager wants, server-side apply; it
 *   needs a `fieldManager`, and with `force` it takes fields from other managers.
 */
export type Patch =
  | { readonly kind: 'merge'; readonly body: ObjectManifest }
  | { readonly kind: 'json'; readonly body: readonly JsonPatchOperation[] }
  | { readonly kind: 'apply'; readonly body: ObjectManifest; readonly force?: boolean | undefined };

export interface JsonPatchOperation {
  readonly op: 'add' | 'remove' | 'replace' | 'move' | 'copy' | 'test';
  readonly path: string;
  readonly from?: string | undefined;
  readonly value?: unknown;
}

export interface DeleteOptions extends CallOptions {
  /** Delete this very object, and not another one that has its name by now. */
  readonly uid?: string | undefined;
  /** Delete it only as it was then. */
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: 'Foreground' | 'Background' | 'Orphan' | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly dryRun?: boolean | undefined;
}

const patchTypes: Readonly<Record<Patch['kind'], string>> = {
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
  // JSON is YAML.
  apply: 'application/apply-patch+yaml',
};

/** Every method fails with what `ApiRequests.json` fails with, and with ERR_RH_API_REQUEST_INVALID before anything is sent. */
export class KubeClient {
  readonly #requests: ApiRequests;

  constructor(access: ApiAccess) {
    this.#requests = new ApiRequests(access);
  }

  get clock(): Clock {
    return this.#requests.clock;
  }

  async get<Item extends KubeObject>(
    type: ResourceType<Item>,
    name: ObjectName,
    options: CallOptions = {},
  ): Promise<Item> {
    return this.#object(type, { method: 'GET', path: pathOf(type, name), ...limitsOf(options) });
  }

  /** One page, or, without a limit, everything in one answer. */
  async list<Item extends KubeObject>(
    type: ResourceType<Item>,
    options: ListOptions = {},
  ): Promise<ObjectList<Item>> {
    const { namespace, limit, continueToken } = options;
    const path = withQuery(pathOf(type, { namespace }), {
      ...selectorsOf(options),
      limit: limit === undefined ? undefined : String(limit),
      continue: continueToken,
    });
    const value = await this.#requests.json({ method: 'GET', path, ...limitsOf(options) });
    return shaped(type, () => readList(type, value));
  }

  /**
   * Tells what changes, as it changes, until the server ends it, which it does every few minutes; then it resolves. An `Informer`
   * goes on from there.
   *
   * @param onEvent what it throws ends the watch, and is what the watch fails with
   * @throws as `list`, and ERR_RH_WATCH_INVALID, ERR_RH_STREAM_SILENT; an ApiStatusError of 410: list again, what was in between is
   * forgotten
   */
  async watch<Item extends KubeObject>(
    type: ResourceType<Item>,
    options: WatchOptions,
    onEvent: (event: WatchEvent<Item>) => void,
  ): Promise<void> {
    const { namespace, resourceVersion, ...rest } = options;
    const path = withQuery(pathOf(type, { namespace }), {
      watch: 'true',
      allowWatchBookmarks: 'true',
      resourceVersion,
      ...selectorsOf(options),
    });
    const tell = (event: WatchEvent): void => {
      onEvent(event.type === 'BOOKMARK' ? event : { ...event, object: type.read(event.object) });
    };
    await watch(this.#requests, { ...rest, path, kind: kindOf(type), onEvent: tell });
  }

  /** @param object its name and namespace say where; without a name it needs a `generateName` */
  async create<Item extends KubeObject>(
    type: ResourceType<Item>,
    object: ObjectManifest,
    options: WriteOptions = {},
  ): Promise<Item> {
    const namespace = object.metadata?.namespace;
    if (type.namespaced && namespace === undefined) {
      throw new KubernetesError(
        'ERR_RH_API_REQUEST_INVALID',
        `${qualifiedName(type)} belong to a namespace, and the new one has none`,
      );
    }
    return this.#write(type, 'POST', { namespace }, manifest(type, object), options);
  }

  /** Replaces it; with the resourceVersion that it was read with, only if nobody has changed it since (409 Conflict). */
  async update<Item extends KubeObject>(
    type: ResourceType<Item>,
    object: ObjectManifest & { readonly metadata: ObjectName },
    options: WriteOptions = {},
  ): Promise<Item> {
    const { name, namespace } = object.metadata;
    const { subresource } = options;
    return this.#write(type, 'PUT', { namespace, name, subresource }, manifest(type, object), options);
  }

  async patch<Item extends KubeObject>(
    type: ResourceType<Item>,
    { name, namespace }: ObjectName,
    patch: Patch,
    options: WriteOptions = {},
  ): Promise<Item> {
    const location = { namespace, name, subresource: options.subresource };
    const body = patch.kind === 'apply' ? manifest(type, patch.body) : patch.body;
    const force = patch.kind === 'apply' && patch.force === true ? 'true' : undefined;
    return this.#write(type, 'PATCH', location, body, options, patchTypes[patch.kind], { force });
  }

  /** Resolves when the server has taken it, which may be long before the object is gone: it may have finalizers. */
  async delete(type: ResourceType, name: ObjectName, options: DeleteOptions = {}): Promise<void> {
    const { uid, resourceVersion, propagationPolicy, gracePeriodSeconds, dryRun } = options;
    await this.#requests.json({
      method: 'DELETE',
      path: withQuery(pathOf(type, name), { dryRun: dryRun === true ? 'All' : undefined }),
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy,
        gracePeriodSeconds,
        ...((uid ?? resourceVersion) !== undefined && { preconditions: { uid, resourceVersion } }),
      },
      ...limitsOf(options),
    });
  }

  #write<Item extends KubeObject>(
    type: ResourceType<Item>,
    method: 'POST' | 'PUT' | 'PATCH',
    location: ResourceLocation,
    body: unknown,
    options: WriteOptions,
    contentType?: string,
    query: Query = {},
  ): Promise<Item> {
    const { fieldManager, dryRun } = options;
    const path = withQuery(pathOf(type, location), {
      fieldManager,
      dryRun: dryRun === true ? 'All' : undefined,
      ...query,
    });
    return this.#object(type, { method, path, body, contentType, ...limitsOf(options) });
  }

  async #object<Item extends KubeObject>(type: ResourceType<Item>, request: ApiRequest): Promise<Item> {
    const value = await this.#requests.json(request);
    return shaped(type, () => type.read(readKubeObject(value, kindOf(type))));
  }
}

type Query = Readonly<Record<string, string | undefined>>;

function withQuery(path: string, query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== '') {
      parameters.append(name, value);
    }
  }
  return parameters.size === 0 ? path : `${path}?${parameters.toString()}`;
}

function selectorsOf({ labelSelector, fieldSelector }: Selection): Query {
  return { labelSelector, fieldSelector };
}

function kindOf(type: ResourceType): { readonly apiVersion: string; readonly kind: string } {
  return { apiVersion: apiVersionOf(type), kind: type.kind };
}

function limitsOf({ signal, timeoutMs }: CallOptions): CallOptions {
  return { signal, timeoutMs };
}

function manifest(type: ResourceType, object: ObjectManifest): ObjectManifest {
  return { ...object, ...kindOf(type) };
}

function readList<Item extends KubeObject>(type: ResourceType<Item>, value: unknown): ObjectList<Item> {
  if (!isFields(value) || !Array.isArray(value['items'] ?? [])) {
    throw new ShapeError('it is no list');
  }
  const meta = isFields(value['metadata']) ? value['metadata'] : {};
  const { resourceVersion, continue: token } = meta;
  const items: readonly unknown[] = Array.isArray(value['items']) ? value['items'] : [];
  return {
    items: items.map((item) => type.read(readKubeObject(item, kindOf(type)))),
    resourceVersion: typeof resourceVersion === 'string' ? resourceVersion : '',
    continueToken: typeof token === 'string' && token !== '' ? token : undefined,
  };
}

/** @throws ERR_RH_API_ANSWER_INVALID in the place of a ShapeError */
function shaped<T>(type: ResourceType, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ShapeError) {
      const what = `an answer about ${qualifiedName(type)}`;
      throw new KubernetesError('ERR_RH_API_ANSWER_INVALID', `${what} cannot be read: ${error.message}`);
    }
    throw error;
  }
}
