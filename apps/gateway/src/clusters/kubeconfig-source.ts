/** A kubeconfig file as a source of clusters: every context, followed live together with the files that it refers to. */

import { resolve } from 'node:path';
import { loadKubeconfig, maxKubeconfigBytes } from '@roundhouse/kubernetes';
import type { ContextResolution, ExecPolicy } from '@roundhouse/kubernetes';
import { ProcessError } from '@roundhouse/process';
import type { Logger } from '@roundhouse/process';
import { FileFollower } from '@roundhouse/transport';
import type { MaterialStatus } from '@roundhouse/transport';
import type { ClusterRegistry } from './cluster-registry.ts';
import { ContextMaterials } from './context-materials.ts';
import { LastKubeconfig } from './last-kubeconfig.ts';

export interface KubeconfigSourceOptions {
  readonly path: string;
  readonly registry: ClusterRegistry;
  /** Which credential plugins of this file may be run. */
  readonly execPolicy: ExecPolicy;
  /** The longest time in which a change stays unseen where file events do not reach. */
  readonly intervalMs: number;
  readonly log: Logger;
  readonly onChange: (path: string) => void;
  /** The file has become unusable; the clusters stay as they were. */
  readonly onError: (path: string, error: Error) => void;
}

export class KubeconfigSource implements AsyncDisposable {
  readonly path: string;
  readonly #follower: FileFollower<ReadonlyMap<string, ContextResolution>>;
  readonly #materials: ContextMaterials;

  private constructor(
    path: string,
    follower: FileFollower<ReadonlyMap<string, ContextResolution>>,
    materials: ContextMaterials,
  ) {
    this.path = path;
    this.#follower = follower;
    this.#materials = materials;
  }

  /** @throws ERR_RH_FILE_UNUSABLE when it cannot be read; ERR_RH_KUBECONFIG_INVALID when it is none */
  static async open(options: KubeconfigSourceOptions): Promise<KubeconfigSource> {
    const path = resolve(options.path);
    const materials = new ContextMaterials(options.log);
    const last = new LastKubeconfig();
    const apply = (contexts: ReadonlyMap<string, ContextResolution>): void => {
      materials.keepOnly(contexts);
      options.registry.apply(path, contexts);
    };
    const follower = await FileFollower.open({
      load: (read) =>
        loadKubeconfig(path, read, {
          execPolicy: options.execPolicy,
          parse: (content, name) => last.parse(content, name),
          materialOf: (context, found, origin) => materials.take(context, found, origin),
        }),
      onChange: (contexts) => {
        apply(contexts);
        options.onChange(path);
      },
      onError: (error) => options.onError(path, error),
      intervalMs: options.intervalMs,
      maxBytes: maxKubeconfigBytes,
    }).catch((error: unknown) => {
      throw isFileError(error)
        ? new ProcessError('ERR_RH_FILE_UNUSABLE', `cannot read the kubeconfig ${path}: ${error.message}`, {
            cause: error,
          })
        : error;
    });
    apply(follower.value);
    return new KubeconfigSource(path, follower, materials);
  }

  /** Why the present content of the file is not the one in use; undefined when it is. */
  get error(): Error | undefined {
    return this.#follower.error;
  }

  /** Of the CA and the client certificate of a context; undefined where there is no such context. */
  materialOf(context: string): MaterialStatus | undefined {
    return this.#materials.statusOf(context);
  }

  /** Looks at the files now; resolves when the clusters are what they say. */
  async reread(): Promise<void> {
    await this.#follower.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#follower[Symbol.asyncDispose]();
    await this.#materials[Symbol.asyncDispose]();
  }
}

/** Of the file system, not of the parser. */
function isFileError(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && !String(error.code).startsWith('ERR_RH_');
}
