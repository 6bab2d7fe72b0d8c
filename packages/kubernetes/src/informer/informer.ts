/**
 * What there is of one kind of objects, kept up to date: a copy in memory, and a word to whoever subscribes for each change, those
 * included that happened while nobody could watch. One list and one watch, however many subscribe.
 */

import { ShapeError } from '../client/kube-object.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { KubeObject, ObjectName } from '../client/kube-object.ts';
import { qualifiedName } from '../client/resource-type.ts';
import type { ResourceType } from '../client/resource-type.ts';
import { KubernetesError } from '../errors.ts';
import type { ObjectEvent } from '../watch/watch-event.ts';
import { ObjectStore } from './object-store.ts';
import { Reflector } from './reflector.ts';
import type { ReflectionSink, ReflectorOptions, ReflectorSnapshot } from './reflector.ts';

export interface InformerOptions extends ReflectorOptions {
  /** Kept in memory at most; where there are more, nothing is known until there are fewer. Default: 100,000. */
  readonly maxObjects?: number | undefined;
  /** Each failure of a list or a watch, after which another attempt follows, and each object that cannot be read. */
  readonly onError?: ((error: Error) => void) | undefined;
}

/** Called one after the other, in the order of the changes. A throw reaches nobody else and ends the process, as a bug does. */
export interface InformerHandlers<Item extends KubeObject = KubeObject> {
  readonly added?: ((object: Item) => void) | undefined;
  readonly updated?: ((object: Item, previous: Item) => void) | undefined;
  /** As it was when it was seen last. */
  readonly deleted?: ((object: Item) => void) | undefined;
}

export interface InformerSnapshot extends ReflectorSnapshot {
  /** `configmaps`, `deployments.apps`. */
  readonly resource: string;
  readonly synced: boolean;
  readonly objects: number;
  /** Handlers of how many are called. */
  readonly subscribers: number;
  /** Why it does not work at present; undefined while it does. */
  readonly error: Error | undefined;
}

const defaultMaxObjects = 100_000;

export class Informer<Item extends KubeObject = KubeObject> implements AsyncDisposable {
  /** Resolves when everything that there was is known. Rejects with ERR_RH_INFORMER_CLOSED where that never came about. */
  readonly synced: Promise<void>;
  readonly #type: ResourceType<Item>;
  readonly #options: InformerOptions;
  readonly #store = new ObjectStore<Item>();
  /** Leave when they are disposed of, and with the informer. */
  readonly #subscribers = new Set<InformerHandlers<Item>>();
  readonly #reflector: Reflector;
  readonly #end = new AbortController();
  readonly #sync = Promise.withResolvers<void>();
  #isSynced = false;
  /** Objects that the list which is under way has named. */
  #inList = 0;
  #error: Error | undefined;
  #running: Promise<void> = Promise.resolve();

  private constructor(client: KubeClient, type: ResourceType<Item>, options: InformerOptions) {
    this.#type = type;
    this.#options = options;
    this.#reflector = new Reflector(client, type, options, this.#sink());
    this.synced = this.#sync.promise;
    // Whoever does not wait for it is not to be told.
    this.synced.catch(() => undefined);
  }

  /** Begins to list at once. */
  static open<Item extends KubeObject>(
    client: KubeClient,
    type: ResourceType<Item>,
    options: InformerOptions = {},
  ): Informer<Item> {
    const informer = new Informer(client, type, options);
    informer.#running = informer.#run();
    return informer;
  }

  get(name: ObjectName): Item | undefined {
    return this.#store.get(name);
  }

  /** Those of a namespace, or all. */
  list(namespace?: string): readonly Item[] {
    return [...this.#store.all(namespace)];
  }

  /** What is there already is told as `added`, at once. Ends when it is disposed of. */
  subscribe(handlers: InformerHandlers<Item>): Disposable {
    for (const object of this.#store.all()) {
      tell(() => handlers.added?.(object));
    }
    if (!this.#end.signal.aborted) {
      this.#subscribers.add(handlers);
    }
    return { [Symbol.dispose]: () => void this.#subscribers.delete(handlers) };
  }

  inspect(): InformerSnapshot {
    return {
      ...this.#reflector.inspect(),
      resource: qualifiedName(this.#type),
      synced: this.#isSynced,
      objects: this.#store.size,
      subscribers: this.#subscribers.size,
      error: this.#error,
    };
  }

  /** Nobody is told anything from now on. Resolves when its request has ended. */
  async close(): Promise<void> {
    this.#end.abort();
    this.#subscribers.clear();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #run(): Promise<void> {
    await this.#reflector.run(this.#end.signal);
    this.#sync.reject(
      new KubernetesError(
        'ERR_RH_INFORMER_CLOSED',
        `the informer of ${qualifiedName(this.#type)} has ended before it knew what there is`,
        { cause: this.#error },
      ),
    );
  }

  #sink(): ReflectionSink {
    return {
      listBegins: () => this.#listBegins(),
      listed: (object) => this.#listed(object),
      listEnds: () => this.#listEnds(),
      changed: (event) => this.#changed(event),
      failed: (error) => this.#failed(error),
    };
  }

  #listBegins(): void {
    this.#inList = 0;
    this.#store.beginList();
  }

  #listed(object: KubeObject): void {
    // What this list does not name goes with its end, and does not count here.
    this.#inList += 1;
    this.#refuseBeyond(this.#inList);
    this.#put(object);
  }

  #listEnds(): void {
    for (const object of this.#store.endList()) {
      this.#tellAll(({ deleted }) => deleted?.(object));
    }
    this.#error = undefined;
    this.#isSynced = true;
    this.#sync.resolve();
  }

  #changed({ type, object }: ObjectEvent): boolean {
    this.#error = undefined;
    if (type !== 'DELETED') {
      this.#refuseBeyond(this.#store.size + (this.#store.get(object.metadata) === undefined ? 1 : 0));
      return this.#put(object);
    }
    const known = this.#store.remove(object.metadata);
    if (known === undefined) {
      return false;
    }
    const last = this.#read(object) ?? known;
    this.#tellAll(({ deleted }) => deleted?.(last));
    return true;
  }

  /** @throws ERR_RH_INFORMER_FULL */
  #refuseBeyond(count: number): void {
    const { maxObjects = defaultMaxObjects } = this.#options;
    if (count > maxObjects) {
      throw new KubernetesError(
        'ERR_RH_INFORMER_FULL',
        `there are more than ${maxObjects} ${qualifiedName(this.#type)}, which is as many as are kept`,
      );
    }
  }

  /** False: it was known already. */
  #put(object: KubeObject): boolean {
    const item = this.#read(object);
    if (item === undefined) {
      // What was there and cannot be read any more is kept as it could be read last.
      this.#store.keep(object.metadata);
      return true;
    }
    const previous = this.#store.put(item);
    if (previous === undefined) {
      this.#tellAll(({ added }) => added?.(item));
      return true;
    }
    const { uid, resourceVersion } = item.metadata;
    if (uid !== previous.metadata.uid) {
      // Deleted and made anew while nobody watched.
      this.#tellAll(({ deleted }) => deleted?.(previous));
      this.#tellAll(({ added }) => added?.(item));
      return true;
    }
    if (resourceVersion !== undefined && resourceVersion === previous.metadata.resourceVersion) {
      return false;
    }
    this.#tellAll(({ updated }) => updated?.(item, previous));
    return true;
  }

  /** Without `managedFields`, which nobody here looks at and which are often most of an object. */
  #read(object: KubeObject): Item | undefined {
    try {
      return this.#type.read({ ...object, metadata: { ...object.metadata, managedFields: undefined } });
    } catch (error) {
      if (!(error instanceof ShapeError)) {
        throw error;
      }
      const { namespace, name } = object.metadata;
      const which = namespace === undefined ? name : `${namespace}/${name}`;
      this.#options.onError?.(
        new KubernetesError(
          'ERR_RH_API_ANSWER_INVALID',
          `${which} of ${qualifiedName(this.#type)} cannot be read and is passed over: ${error.message}`,
        ),
      );
      return undefined;
    }
  }

  #failed(error: Error): void {
    this.#error = error;
    this.#options.onError?.(error);
  }

  #tellAll(word: (handlers: InformerHandlers<Item>) => void): void {
    // Who subscribes meanwhile has been told already.
    const subscribers = [...this.#subscribers];
    for (const handlers of subscribers) {
      tell(() => word(handlers));
    }
  }
}

/** A throw of a subscriber's is its own: it neither reaches other subscribers nor looks like a failure of the watch. */
function tell(word: () => void): void {
  try {
    word();
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
