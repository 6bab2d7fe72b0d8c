/**
 * The TLS material of the contexts of one kubeconfig: of each the last good CA and the last good pair, whatever its file has in it
 * now. One line in the log for each change and for each bad content.
 */

import type { Logger } from '@roundhouse/process';
import { MaterialSource } from '@roundhouse/transport';
import type {
  MaterialContents,
  MaterialFollower,
  MaterialPartName,
  MaterialStatus,
  TlsMaterial,
} from '@roundhouse/transport';

interface ContextMaterial {
  readonly source: MaterialSource;
  readonly parts: readonly MaterialPartName[];
  readonly origin: string;
  readonly follower: MaterialFollower;
}

export class ContextMaterials implements AsyncDisposable {
  readonly #log: Logger;
  /** By context; an entry leaves with its context. */
  readonly #materials = new Map<string, ContextMaterial>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Undefined for a context that there is none of. */
  statusOf(context: string): MaterialStatus | undefined {
    return this.#materials.get(context)?.source.status;
  }

  /**
   * What is in use, now that this was found.
   *
   * @param origin where it comes from and for whom: what was good elsewhere is not the last good here
   * @throws why nothing is
   */
  take(context: string, found: MaterialContents, origin: string): TlsMaterial {
    const { source } = this.#materialFor(context, partsOf(found), origin);
    source.push(found);
    return source.present();
  }

  /** Those that are not there any more are forgotten. */
  keepOnly(contexts: ReadonlyMap<string, unknown>): void {
    for (const context of this.#materials.keys()) {
      if (!contexts.has(context)) {
        void this.#forget(context);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#materials.keys()].map((context) => this.#forget(context)));
  }

  /** A context that is configured with other parts than before, or for another cluster or user, starts anew: a CA that was taken out on purpose is gone. */
  #materialFor(context: string, parts: readonly MaterialPartName[], origin: string): ContextMaterial {
    const present = this.#materials.get(context);
    if (present?.origin === origin && present.parts.join() === parts.join()) {
      return present;
    }
    void this.#forget(context);
    const source = MaterialSource.pushed({ parts });
    const material = { source, parts, origin, follower: this.#follow(context, source) };
    this.#materials.set(context, material);
    return material;
  }

  #follow(context: string, source: MaterialSource): MaterialFollower {
    return source.follow({
      changed: ({ parts, material: { caExpiresAt, certExpiresAt } }) =>
        this.#log.info(
          { cluster: context, parts, caExpiresAt, certificateExpiresAt: certExpiresAt },
          'certificates changed',
        ),
      bad: ({ parts, error }) =>
        this.#log.error(
          { cluster: context, parts, reason: error.message },
          source.material === undefined
            ? 'certificates unusable'
            : 'certificates unusable, the last good ones stay in use',
        ),
    });
  }

  async #forget(context: string): Promise<void> {
    const material = this.#materials.get(context);
    this.#materials.delete(context);
    await material?.follower[Symbol.asyncDispose]();
  }
}

function partsOf({ ca, cert, key }: MaterialContents): MaterialPartName[] {
  return [
    ...(ca === undefined ? [] : (['ca'] as const)),
    ...(cert === undefined && key === undefined ? [] : (['pair'] as const)),
  ];
}
