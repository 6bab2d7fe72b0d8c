/** What is inside the containers of running pods: files, and what can be run. A container lives as long as its pod. */
import type { PodServer } from '../../streams/pod-servers/pod-connection.ts';
import { commonServers } from '../../streams/pod-servers/servers.ts';
import { basicPrograms } from '../../streams/processes/programs.ts';
import { FileTree } from '../../streams/processes/file-tree.ts';
import type { Program } from '../../streams/processes/program.ts';
import type { ContainerContext } from '../../streams/processes/run-process.ts';
import type { Clock } from '../clock.ts';
import { nameOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import type { Collection } from '../store/versioned-store.ts';

/** Of the files of one container. */
const maxFileBytes = 256 * 1024 * 1024;

interface PodContent {
  readonly stopped: AbortController;
  readonly containers: Map<string, ContainerContext>;
  readonly servers: ReadonlyMap<number, PodServer>;
}

export interface ContainersOptions {
  /** Beside those that every container has, by name. */
  readonly programs: Readonly<Record<string, Program>>;
  /** Beside those that every pod has, by port. */
  readonly servers: Readonly<Record<number, PodServer>>;
  readonly clock: Clock;
}

export class Containers implements Disposable {
  readonly #pods: Collection;
  readonly #clock: Clock;
  readonly #programs: ReadonlyMap<string, Program>;
  readonly #servers: readonly (readonly [port: number, server: PodServer])[];
  /** By the pod's uid. */
  readonly #contents = new Map<string, PodContent>();
  readonly #subscription: Disposable;

  constructor(pods: Collection, { programs, servers, clock }: ContainersOptions) {
    this.#pods = pods;
    this.#clock = clock;
    this.#servers = Object.entries(servers).map(([port, server]) => [Number(port), server] as const);
    this.#programs = new Map([...basicPrograms, ...Object.entries(programs)]);
    this.#subscription = pods.onChange(() => this.#stopRemoved());
  }

  of(pod: KubeObject, container: string): ContainerContext {
    const content = this.#contentOf(pod);
    const context = content.containers.get(container) ?? {
      files: new FileTree(maxFileBytes),
      hostname: nameOf(pod),
      programs: this.#programs,
      clock: this.#clock,
      stopped: content.stopped.signal,
    };
    content.containers.set(container, context);
    return context;
  }

  /** What listens in the pod, by port, and when that ends. */
  listenersIn(pod: KubeObject): {
    readonly servers: ReadonlyMap<number, PodServer>;
    readonly stopped: AbortSignal;
  } {
    const { servers, stopped } = this.#contentOf(pod);
    return { servers, stopped: stopped.signal };
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    for (const content of this.#contents.values()) content.stopped.abort();
    this.#contents.clear();
  }

  #contentOf(pod: KubeObject): PodContent {
    const uid = pod.metadata.uid ?? '';
    const content = this.#contents.get(uid) ?? {
      stopped: new AbortController(),
      containers: new Map(),
      servers: new Map([...commonServers(nameOf(pod)), ...this.#servers]),
    };
    this.#contents.set(uid, content);
    return content;
  }

  #stopRemoved(): void {
    if (this.#contents.size === 0) return;
    const present = new Set(this.#pods.all().map((pod) => pod.metadata.uid));
    for (const [uid, content] of this.#contents) {
      if (present.has(uid)) continue;
      content.stopped.abort();
      this.#contents.delete(uid);
    }
  }
}
