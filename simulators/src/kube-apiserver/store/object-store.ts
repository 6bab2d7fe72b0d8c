/**
 * The rules of the Kubernetes API on stored objects: names, uids, generations, optimistic concurrency, status apart from spec, and
 * deletion in two steps. Requests and the simulator's own controllers write through here, and nobody else writes.
 */
import { randomUUID } from 'node:crypto';
import { ApiError } from '../api-error.ts';
import { timestamp } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { equalJson, textAt } from '../json.ts';
import { labelsOf, nameOf, namespaceOf, withMeta } from '../kube-object.ts';
import type { KubeObject, ObjectMeta } from '../kube-object.ts';
import { namespaces } from '../resources/namespaces.ts';
import { apiVersionOf } from '../resources/resource-definition.ts';
import type { AdmissionContext, ResourceDefinition } from '../resources/resource-definition.ts';
import { services } from '../resources/services.ts';
import { validateLabels, validateName } from '../resources/validation.ts';
import { objectKey, randomSuffix } from './object-names.ts';
import { VersionedStore } from './versioned-store.ts';
import type { Collection } from './versioned-store.ts';

/** Who writes what: `main` leaves status alone, `status` leaves the rest alone, `everything` is for the simulator's own hands. */
export type WriteScope = 'main' | 'status' | 'everything';

export interface WriteOptions {
  readonly scope?: WriteScope;
  /** Answer what would be stored, and store nothing. */
  readonly dryRun?: boolean;
}

export interface RemoveOptions {
  readonly gracePeriodSeconds?: number | undefined;
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string } | undefined;
  readonly dryRun?: boolean;
}

export interface Removal {
  readonly object: KubeObject;
  /** False: the object is marked and still there. */
  readonly removed: boolean;
}

export interface ObjectStoreOptions {
  readonly clock: Clock;
  /** Changes kept per resource for watches, at least. */
  readonly historyLimit: number;
  /** Whether controllers run that finish what deletion only marks; without them objects are removed at once. */
  readonly controllers: boolean;
}

export class ObjectStore {
  readonly versions: VersionedStore;
  readonly clock: Clock;
  readonly #controllers: boolean;
  #lastClusterIp = 0;

  constructor(options: ObjectStoreOptions) {
    this.versions = new VersionedStore(options.historyLimit);
    this.clock = options.clock;
    this.#controllers = options.controllers;
  }

  collection(definition: ResourceDefinition): Collection {
    return this.versions.collection(`${definition.group}/${definition.resource}`);
  }

  find(definition: ResourceDefinition, namespace: string, name: string): KubeObject | undefined {
    return this.collection(definition).get(objectKey(namespace, name));
  }

  /** Throws NotFound. */
  get(definition: ResourceDefinition, namespace: string, name: string): KubeObject {
    const found = this.find(definition, namespace, name);
    if (found === undefined) throw ApiError.notFound(definition, name);
    return found;
  }

  create(definition: ResourceDefinition, given: KubeObject, options: WriteOptions = {}): KubeObject {
    const scope = options.scope ?? 'main';
    const object = this.#named(
      definition,
      scope === 'main' && definition.hasStatus ? withoutStatus(given) : given,
    );
    const name = nameOf(object);
    if (scope === 'main' && (object.metadata.resourceVersion ?? '') !== '') {
      throw ApiError.badRequest('resourceVersion should not be set on objects to be created');
    }
    this.#checkNamespace(definition, namespaceOf(object));
    const fresh = withMeta(object, {
      uid: (scope === 'everything' ? object.metadata.uid : undefined) ?? randomUUID(),
      creationTimestamp:
        (scope === 'everything' ? object.metadata.creationTimestamp : undefined) ??
        timestamp(this.clock.now()),
      ...(definition.hasStatus ? { generation: 1 } : {}),
    });
    const ready = this.#admit(definition, fresh, undefined);
    const key = objectKey(namespaceOf(ready), name);
    if (this.collection(definition).get(key) !== undefined) throw ApiError.alreadyExists(definition, name);
    return options.dryRun === true ? ready : this.collection(definition).put(key, ready);
  }

  /**
   * Replaces by what `change` makes of the present object. A `resourceVersion` in the result is a condition: Conflict when it is
   * not the present one. Throws NotFound.
   */
  change(
    definition: ResourceDefinition,
    namespace: string,
    name: string,
    change: (current: KubeObject) => KubeObject,
    options: WriteOptions = {},
  ): KubeObject {
    const current = this.get(definition, namespace, name);
    const next = change(current);
    checkIdentity(definition, current, next);
    const scoped = restrict(definition, current, next, options.scope ?? 'main');
    const specChanged = !equalJson(
      { ...scoped, metadata: {}, status: null },
      { ...current, metadata: {}, status: null },
    );
    const kept = { ...scoped, metadata: withSystemFields(current, scoped, specChanged) };
    const ready = this.#admit(definition, kept, current);
    if (options.dryRun === true || equalJson(ready, current))
      return options.dryRun === true ? ready : current;
    const key = objectKey(namespace, name);
    // The last finalizer is gone from an object that was only waiting for it.
    if (ready.metadata.deletionTimestamp !== undefined && hadFinalizers(current) && !hadFinalizers(ready)) {
      return this.collection(definition).remove(key) ?? ready;
    }
    return this.collection(definition).put(key, ready);
  }

  /** Throws NotFound, and Conflict for a precondition that does not hold. */
  remove(
    definition: ResourceDefinition,
    namespace: string,
    name: string,
    options: RemoveOptions = {},
  ): Removal {
    const current = this.get(definition, namespace, name);
    checkPreconditions(definition, current, options.preconditions);
    const grace = options.gracePeriodSeconds ?? definition.gracePeriodSeconds(current);
    const waits =
      hadFinalizers(current) ||
      (this.#controllers &&
        definition.terminates(current) &&
        !forced(definition, options.gracePeriodSeconds));
    if (options.dryRun === true) return { object: current, removed: !waits };
    if (!waits) return { object: this.purge(definition, namespace, name) ?? current, removed: true };
    return { object: this.#mark(definition, current, grace), removed: false };
  }

  /** Takes the object out, whatever it waits for. */
  purge(definition: ResourceDefinition, namespace: string, name: string): KubeObject | undefined {
    return this.collection(definition).remove(objectKey(namespace, name));
  }

  #mark(definition: ResourceDefinition, current: KubeObject, graceSeconds: number): KubeObject {
    const known = current.metadata.deletionGracePeriodSeconds;
    // A second delete may shorten the grace, and never lengthens it.
    if (current.metadata.deletionTimestamp !== undefined && (known === undefined || known <= graceSeconds))
      return current;
    const marked = withMeta(current, {
      deletionTimestamp: timestamp(this.clock.now() + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
    });
    return this.collection(definition).put(
      objectKey(namespaceOf(current), nameOf(current)),
      this.#admit(definition, marked, current),
    );
  }

  #named(definition: ResourceDefinition, object: KubeObject): KubeObject {
    const { name = '', generateName = '' } = object.metadata;
    const chosen =
      name === '' && generateName !== '' ? `${generateName.slice(0, 58)}${randomSuffix()}` : name;
    const { namespace: _, ...meta } = object.metadata;
    return {
      ...object,
      apiVersion: apiVersionOf(definition),
      metadata: {
        ...meta,
        name: chosen,
        ...(definition.namespaced ? { namespace: namespaceOf(object) || 'default' } : {}),
      },
    };
  }

  #checkNamespace(definition: ResourceDefinition, namespace: string): void {
    if (!definition.namespaced) return;
    const home = this.get(namespaces, '', namespace);
    if (textAt(home, 'status', 'phase') !== 'Terminating') return;
    const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
    throw new ApiError(403, 'Forbidden', `${definition.resource} is forbidden: ${why}`, {
      kind: definition.resource,
    });
  }

  #admit(definition: ResourceDefinition, object: KubeObject, previous: KubeObject | undefined): KubeObject {
    const context: AdmissionContext = {
      clock: this.clock,
      previous,
      allocateClusterIp: () => this.#allocateClusterIp(),
    };
    const ready = definition.default(object, context);
    const causes = [
      ...(previous === undefined ? validateName(nameOf(ready)) : []),
      ...validateLabels(labelsOf(ready)),
      ...definition.validate(ready, previous),
    ];
    if (causes.length > 0) throw ApiError.invalid(definition, nameOf(ready), causes);
    return ready;
  }

  #allocateClusterIp(): string {
    const taken = new Set(
      this.collection(services)
        .all()
        .map((service) => textAt(service, 'spec', 'clusterIP')),
    );
    for (;;) {
      this.#lastClusterIp = (this.#lastClusterIp + 1) % 0xffff;
      const address = `10.96.${this.#lastClusterIp >>> 8}.${this.#lastClusterIp & 0xff}`;
      if (!taken.has(address)) return address;
    }
  }
}

const systemFields: ReadonlySet<string> = new Set([
  'namespace',
  'uid',
  'creationTimestamp',
  'resourceVersion',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'generation',
] satisfies (keyof ObjectMeta)[]);

function checkIdentity(definition: ResourceDefinition, current: KubeObject, next: KubeObject): void {
  const name = nameOf(current);
  if (nameOf(next) !== name) {
    throw ApiError.badRequest(
      `the name of the object (${nameOf(next)}) does not match the name on the URL (${name})`,
    );
  }
  if (namespaceOf(next) !== '' && namespaceOf(next) !== namespaceOf(current)) {
    throw ApiError.badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  checkPreconditions(definition, current, next.metadata);
}

function checkPreconditions(
  definition: ResourceDefinition,
  current: KubeObject,
  wanted: RemoveOptions['preconditions'],
): void {
  const { uid = '', resourceVersion = '' } = wanted ?? {};
  if (uid !== '' && uid !== current.metadata.uid) {
    const why = `Precondition failed: UID in precondition: ${uid}, UID in object meta: ${current.metadata.uid ?? ''}`;
    throw ApiError.conflict(definition, nameOf(current), why);
  }
  if (resourceVersion !== '' && resourceVersion !== current.metadata.resourceVersion)
    throw ApiError.conflict(definition, nameOf(current));
}

function restrict(
  definition: ResourceDefinition,
  current: KubeObject,
  next: KubeObject,
  scope: WriteScope,
): KubeObject {
  if (scope === 'everything' || !definition.hasStatus) return next;
  const status = scope === 'status' ? next['status'] : current['status'];
  const base = scope === 'status' ? { ...current, metadata: next.metadata } : next;
  return { ...base, ...(status === undefined ? {} : { status }) };
}

/** What only the server writes stays as it is, whatever the new object says. */
function withSystemFields(current: KubeObject, next: KubeObject, specChanged: boolean): ObjectMeta {
  const own = Object.entries(next.metadata).filter(([field]) => !systemFields.has(field));
  const kept = Object.entries(current.metadata).filter(([field]) => systemFields.has(field));
  const { generation } = current.metadata;
  return {
    ...Object.fromEntries([...own, ...kept]),
    ...(generation !== undefined && specChanged ? { generation: generation + 1 } : {}),
  };
}

function hadFinalizers(object: KubeObject): boolean {
  return (object.metadata.finalizers ?? []).length > 0;
}

/** `--force --grace-period=0` removes a pod without waiting for its kubelet; a namespace always waits for its content. */
function forced(definition: ResourceDefinition, gracePeriodSeconds: number | undefined): boolean {
  return gracePeriodSeconds === 0 && definition.resource !== namespaces.resource;
}

function withoutStatus(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object;
  return { ...rest, apiVersion: object.apiVersion, kind: object.kind, metadata: object.metadata };
}
