/**
 * All clusters by name, fed by sources. A source hands over everything that it has, each time; the registry finds out what
 * is new, changed and gone. Where two sources have one name, the earlier source keeps it.
 */

import type { ContextResolution } from '@roundhouse/kubernetes';
import type { WatchedCertificate } from '../observability/expiry-watch.ts';
import { Cluster } from './cluster.ts';
import type { ClusterOptions } from './cluster.ts';

export interface NameConflict {
  readonly name: string;
  readonly source: string;
  /** The source that has the name. */
  readonly heldBy: string;
}

export interface RegistryOptions {
  readonly clusterOptions: (name: string) => ClusterOptions;
  /** For the log: a cluster was added, removed, or refused. */
  readonly onChange: (event: 'added' | 'removed', cluster: Cluster) => void;
  readonly onConflict: (conflict: NameConflict) => void;
}

export class ClusterRegistry implements AsyncDisposable {
  readonly #options: RegistryOptions;
  /** Last word of each source, in order of precedence. Bounded by the sources that the program was given. */
  readonly #sources = new Map<string, ReadonlyMap<string, ContextResolution>>();
  /** Bounded by what the sources have; an entry leaves with its configuration. */
  readonly #clusters = new Map<string, Cluster>();
  readonly #byPathName = new Map<string, Cluster>();
  #conflicts: readonly NameConflict[] = [];
  /** Ends of removed clusters that are still under way. */
  readonly #closing = new Set<Promise<void>>();

  constructor(options: RegistryOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#clusters.size;
  }

  get conflicts(): readonly NameConflict[] {
    return this.#conflicts;
  }

  /** By its own name, or by the one that it has in paths. */
  find(name: string): Cluster | undefined {
    return this.#byPathName.get(name) ?? this.#clusters.get(name);
  }

  [Symbol.iterator](): IterableIterator<Cluster> {
    return this.#clusters.values();
  }

  /** Those that clusters are reached with. */
  *certificates(): Generator<WatchedCertificate> {
    for (const { name, material } of this) {
      for (const part of ['ca', 'pair'] as const) {
        const { expiresAt, validFrom } = material?.[part] ?? {};
        if (expiresAt !== undefined && validFrom !== undefined) {
          yield { fields: { cluster: name, part }, expiresAt, validFrom };
        }
      }
    }
  }

  /** Everything that the source has now. */
  apply(source: string, contexts: ReadonlyMap<string, ContextResolution>): void {
    this.#sources.set(source, contexts);
    const holders = this.#decide();
    for (const cluster of this.#clusters.values()) {
      if (holders.get(cluster.name)?.source !== cluster.source) {
        this.#remove(cluster);
      }
    }
    for (const [name, { source: holder, resolution }] of holders) {
      const present = this.#clusters.get(name);
      if (present === undefined) {
        this.#add(new Cluster(name, holder, this.#options.clusterOptions(name)), resolution);
      } else {
        present.configure(resolution);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const cluster of this.#clusters.values()) {
      this.#end(cluster);
    }
    await Promise.all(this.#closing);
  }

  #decide(): Map<string, { source: string; resolution: ContextResolution }> {
    const holders = new Map<string, { source: string; resolution: ContextResolution }>();
    const conflicts: NameConflict[] = [];
    for (const [source, contexts] of this.#sources) {
      for (const [name, resolution] of contexts) {
        const holder = holders.get(name);
        if (holder === undefined) {
          holders.set(name, { source, resolution });
        } else {
          conflicts.push({ name, source, heldBy: holder.source });
        }
      }
    }
    const told = this.#conflicts;
    for (const conflict of conflicts) {
      if (!told.some(({ name, source }) => name === conflict.name && source === conflict.source)) {
        this.#options.onConflict(conflict);
      }
    }
    this.#conflicts = conflicts;
    return holders;
  }

  #add(cluster: Cluster, resolution: ContextResolution): void {
    cluster.configure(resolution);
    this.#clusters.set(cluster.name, cluster);
    // A context may be named as another one is in paths: that one was there first.
    if (!this.#byPathName.has(cluster.pathName)) {
      this.#byPathName.set(cluster.pathName, cluster);
    }
    this.#options.onChange('added', cluster);
  }

  #remove(cluster: Cluster): void {
    this.#options.onChange('removed', cluster);
    this.#end(cluster);
  }

  #end(cluster: Cluster): void {
    this.#clusters.delete(cluster.name);
    if (this.#byPathName.get(cluster.pathName) === cluster) {
      this.#byPathName.delete(cluster.pathName);
    }
    const closing = cluster
      .close(new Error(`cluster ${cluster.name} is no longer in ${cluster.source}`))
      .finally(() => this.#closing.delete(closing));
    this.#closing.add(closing);
  }
}
