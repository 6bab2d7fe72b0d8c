/**
 * The rules of the Kubernetes API on stored objects: names, uids, generations, optimistic concurrency, status apart from spec, and
 * deletion in two steps. Requests and the simulator's own controllers write through here, and nobody else writes.
 */
import { randomUUID } from 'node:crypto';
import { ApiError } from '../api-error.ts';
import { timestamp } from '../clock.ts';
import type { Clock } from '../clock.ts';
import { applyFields, recordUpdate } from '../fields/managed-fields.ts';
import type { Manager } from '../fields/managed-fields.ts';
import { equalJson, textAt } from '../json.ts';
import { nameOf, namespaceOf, withMeta } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { validateMetadata } from '../resources/metadata-validation.ts';
import { namespaces } from '../resources/namespaces.ts';
import { apiVersionOf, collectionOf } from '../resources/resource-definition.ts';
import type { AdmissionContext, ResourceDefinition } from '../resources/resource-definition.ts';
import { services } from '../resources/services.ts';
import { checkDeletePreconditions, deletionFinalizers, graceSeconds, markedForDeletion } from './deletion.ts';
import type { RemoveOptions } from './deletion.ts';
import { objectKey, randomSuffix } from './object-names.ts';
import { VersionedStore } from './versioned-store.ts';
import type { Collection } from './versioned-store.ts';
import { checkIdentity, hadFinalizers, restrict, withoutStatus, withSystemFields } from './write-rules.ts';
import type { WriteScope } from './write-rules.ts';

export interface WriteOptions {
  readonly scope?: WriteScope;
  /** Answer what would be stored, and store nothing. */
  readonly dryRun?: boolean;
  /** In whose name, for `managedFields`. Default: the simulator's own controllers. */
  readonly manager?: string;
  /** That the write comes through. Default: `status` for the scope `status`, else none. */
  readonly subresource?: string;
  /** Has the last word on what would be stored, by throwing. `previous` on update. */
  readonly guard?: (next: KubeObject, previous: KubeObject | undefined) => void;
}

export interface ApplyOptions extends WriteOptions {
  readonly manager: string;
  /** Take fields over that others own. */
  readonly force: boolean;
  /** What is added in nobody's name, once it is settled who owns what. */
  readonly complete: (merged: KubeObject) => KubeObject;
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
    return this.versions.collection(collectionOf(definition));
  }

  find(definition: ResourceDefinition, namespace: string, name: string): KubeObject | undefined {
    const stored = this.collection(definition).get(objectKey(namespace, name));
    return stored === undefined ? undefined : asShown(definition, stored);
  }

  /** Throws NotFound. */
  get(definition: ResourceDefinition, namespace: string, name: string): KubeObject {
    const found = this.find(definition, namespace, name);
    if (found === undefined) throw ApiError.notFound(definition, name);
    return found;
  }

  create(definition: ResourceDefinition, given: KubeObject, options: WriteOptions = {}): KubeObject {
    return this.#create(definition, given, options, (ready) =>
      this.#recordUpdate(definition, undefined, ready, options),
    );
  }

  #create(
    definition: ResourceDefinition,
    given: KubeObject,
    options: WriteOptions,
    record: (ready: KubeObject) => KubeObject,
  ): KubeObject {
    const scope = options.scope ?? 'main';
    const object = this.#named(
      definition,
      scope === 'main' && definition.hasStatus ? withoutStatus(given) : given,
    );
    const name = nameOf(object);
    if (scope === 'main' && (object.metadata.resourceVersion ?? '') !== '') {
      // An error of the storage, which nobody makes the client's.
      throw new ApiError(500, '', 'resourceVersion should not be set on objects to be created');
    }
    this.#checkNamespace(definition, namespaceOf(object));
    const fresh = withMeta(object, {
      uid: (scope === 'everything' ? object.metadata.uid : undefined) ?? randomUUID(),
      creationTimestamp:
        (scope === 'everything' ? object.metadata.creationTimestamp : undefined) ??
        timestamp(this.clock.now()),
      ...(definition.hasStatus || definition.custom ? { generation: 1 } : {}),
    });
    const ready = record(this.#admit(definition, fresh, undefined));
    options.guard?.(ready, undefined);
    const key = objectKey(namespaceOf(ready), name);
    if (this.collection(definition).get(key) !== undefined) throw ApiError.alreadyExists(definition, name);
    return options.dryRun === true ? ready : this.#put(definition, key, ready);
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
    return this.#change(definition, namespace, name, change, options, (current, ready) =>
      this.#recordUpdate(definition, current, ready, options),
    );
  }

  #change(
    definition: ResourceDefinition,
    namespace: string,
    name: string,
    change: (current: KubeObject) => KubeObject,
    options: WriteOptions,
    record: (current: KubeObject, ready: KubeObject) => KubeObject,
  ): KubeObject {
    const current = this.get(definition, namespace, name);
    const next = change(current);
    checkIdentity(definition, current, next);
    const scoped = restrict(definition, current, next, options.scope ?? 'main');
    // Where status is apart, it does not count.
    const unversioned = definition.hasStatus ? { status: null } : {};
    const specChanged = !equalJson(
      { ...scoped, metadata: {}, ...unversioned },
      { ...current, metadata: {}, ...unversioned },
    );
    const kept = { ...scoped, metadata: withSystemFields(current, scoped, specChanged) };
    const ready = record(current, this.#admit(definition, kept, current));
    options.guard?.(ready, current);
    if (options.dryRun === true || equalJson(ready, current))
      return options.dryRun === true ? ready : current;
    const key = objectKey(namespace, name);
    // The last finalizer is gone from an object that was only waiting for it.
    if (hadFinalizers(current) && !hadFinalizers(ready) && this.#isOver(definition, ready))
      return this.purge(definition, namespace, name) ?? ready;
    return this.#put(definition, key, ready);
  }

  /** Server-side apply: creates, or changes what the manager says and owns. Throws Conflict for fields that others own. */
  apply(
    definition: ResourceDefinition,
    namespace: string,
    name: string,
    applied: KubeObject,
    options: ApplyOptions,
  ): { readonly object: KubeObject; readonly created: boolean } {
    const request = {
      schema: definition.schema,
      builtIn: !definition.custom,
      ignored: ignoredFields(definition, options),
      writer: writerOf(definition, options, 'Apply'),
      force: options.force,
      now: timestamp(this.clock.now()),
    };
    if (options.scope === 'status' || this.find(definition, namespace, name) !== undefined) {
      const merge = (live: KubeObject): KubeObject => options.complete(applyFields(live, applied, request));
      const kept = (_current: KubeObject, ready: KubeObject): KubeObject => ready;
      return {
        object: this.#change(definition, namespace, name, merge, options, kept),
        created: false,
      };
    }
    const { apiVersion, kind } = applied;
    const blank = { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }) } };
    const first = applyFields(blank, applied, request);
    return { object: this.#create(definition, first, options, (ready) => ready), created: true };
  }

  #recordUpdate(
    definition: ResourceDefinition,
    live: KubeObject | undefined,
    next: KubeObject,
    options: WriteOptions,
  ): KubeObject {
    const kind = {
      schema: definition.schema,
      builtIn: !definition.custom,
      ignored: [
        ...ignoredFields(definition, options),
        ...(live === undefined ? definition.serverFields : []),
      ],
    };
    const writer = writerOf(definition, options, 'Update');
    return recordUpdate(live, next, kind, writer, timestamp(this.clock.now()));
  }

  /** Throws NotFound, and Conflict for a precondition that does not hold. */
  remove(
    definition: ResourceDefinition,
    namespace: string,
    name: string,
    options: RemoveOptions = {},
  ): Removal {
    const current = this.get(definition, namespace, name);
    checkDeletePreconditions(definition, current, options.preconditions);
    const grace = graceSeconds(definition, current, options.gracePeriodSeconds);
    if (grace === undefined) return { object: current, removed: false };
    const finalizers = deletionFinalizers(definition, current, options.propagation);
    // Without controllers nobody ends what only waits for its time, or for being emptied.
    const waits = this.#controllers && (grace > 0 || definition.holdsContent);
    if (finalizers.length === 0 && !waits) {
      const last = options.dryRun === true ? current : this.purge(definition, namespace, name);
      return { object: last ?? current, removed: true };
    }
    const marked = markedForDeletion(current, finalizers, grace, this.clock.now());
    const ready = this.#admit(definition, marked, current);
    if (options.dryRun === true || equalJson(ready, current)) return { object: ready, removed: false };
    return { object: this.#put(definition, objectKey(namespace, name), ready), removed: false };
  }

  /** Takes the object out, whatever it waits for. */
  purge(definition: ResourceDefinition, namespace: string, name: string): KubeObject | undefined {
    const last = this.collection(definition).remove(objectKey(namespace, name));
    return last === undefined ? undefined : asShown(definition, last);
  }

  /** All of them, whatever they wait for. */
  purgeAll(definition: ResourceDefinition): void {
    for (const object of this.collection(definition).all())
      this.purge(definition, namespaceOf(object), nameOf(object));
  }

  /** Whether nothing but finalizers holds what is deleted. */
  #isOver({ holdsContent }: ResourceDefinition, { metadata }: KubeObject): boolean {
    if (metadata.deletionTimestamp === undefined) return false;
    return !this.#controllers || ((metadata.deletionGracePeriodSeconds ?? 0) === 0 && !holdsContent);
  }

  #put(definition: ResourceDefinition, key: string, object: KubeObject): KubeObject {
    const stored = definition.stored?.toStored(object) ?? object;
    return asShown(definition, this.collection(definition).put(key, stored));
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
      ...validateMetadata(ready, previous, definition),
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

/** A stored object as this resource shows it. */
export function asShown({ stored }: ResourceDefinition, object: KubeObject): KubeObject {
  return stored?.fromStored(object) ?? object;
}

function writerOf(
  definition: ResourceDefinition,
  { manager = 'kube-controller-manager', scope, subresource }: WriteOptions,
  operation: Manager['operation'],
): Manager {
  const through = subresource ?? (scope === 'status' ? 'status' : '');
  return { manager, operation, apiVersion: apiVersionOf(definition), subresource: through };
}

/** What a write of this scope does not set, whatever it says. */
function ignoredFields(
  { hasStatus }: ResourceDefinition,
  { scope = 'main' }: WriteOptions,
): readonly (readonly string[])[] {
  if (scope === 'status') return [['spec'], ['metadata', 'labels']];
  return scope === 'main' && hasStatus ? [['status']] : [];
}
