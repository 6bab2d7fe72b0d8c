/**
 * Lists, then watches, then watches on from where it was, for as long as it is wanted: each failure is told and followed by another
 * attempt, later each time. It lists anew only where the server has forgotten what was in between, or where an event may be lost.
 */

import { RoundhouseError } from '@roundhouse/transport';
import { isApiStatus } from '../client/api-status-error.ts';
import type { ApiStatusError } from '../client/api-status-error.ts';
import type { KubeClient, Selection } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { pause } from '../client/pause.ts';
import { asItCame, qualifiedName } from '../client/resource-type.ts';
import type { ResourceType } from '../client/resource-type.ts';
import { KubernetesError } from '../errors.ts';
import { BackOff } from '../watch/back-off.ts';
import type { ObjectEvent } from '../watch/watch-event.ts';
import type { WatchLimits } from '../watch/watch-request.ts';

/** Who is told; what `listed` and `changed` throw fails the list or the watch, and a list begins anew. */
export interface ReflectionSink {
  listBegins(): void;
  listed(object: KubeObject): void;
  listEnds(): void;
  /** False: it was known already. */
  changed(event: ObjectEvent): boolean;
  failed(error: Error): void;
}

export interface ReflectorOptions extends Selection, WatchLimits {
  /** Objects in one page of a list. Default: 500. */
  readonly pageSize?: number | undefined;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

/** `waiting`: until the next attempt. `ended`: it was not wanted any more, or what it goes over has ended. */
export type ReflectorState = 'listing' | 'watching' | 'waiting' | 'ended';

export interface ReflectorSnapshot {
  readonly state: ReflectorState;
  /** Where a watch goes on; undefined: a list is due. */
  readonly resourceVersion: string | undefined;
  /** Attempts so far. */
  readonly lists: number;
  readonly watches: number;
  /** In a row; 0: it works. */
  readonly failures: number;
}

const defaultPageSize = 500;

/** Of one page. */
const listTimeoutMs = 60_000;

/** Among many that fail at the same time, all are back within 15 s of the recovery. */
const firstBackOffMs = 800;
const maxBackOffMs = 10_000;
const maxRetryAfterMs = 60_000;

/** A watch that ends in good order before that, without a change, might do so for ever. */
const minWatchMs = 1_000;

export class Reflector {
  readonly #client: KubeClient;
  readonly #type: ResourceType;
  readonly #options: ReflectorOptions;
  readonly #sink: ReflectionSink;
  readonly #backOff: BackOff;
  #state: ReflectorState = 'listing';
  #resourceVersion: string | undefined;
  #lists = 0;
  #watches = 0;
  /** The server forgets the pages of a list while it is read: the next one comes in one piece. */
  #inOnePiece = false;

  constructor(client: KubeClient, type: ResourceType, options: ReflectorOptions, sink: ReflectionSink) {
    this.#client = client;
    this.#type = { ...type, read: asItCame };
    this.#options = options;
    this.#sink = sink;
    this.#backOff = new BackOff({
      firstMs: firstBackOffMs,
      maxMs: maxBackOffMs,
      random: options.random,
    });
  }

  inspect(): ReflectorSnapshot {
    return {
      state: this.#state,
      resourceVersion: this.#resourceVersion,
      lists: this.#lists,
      watches: this.#watches,
      failures: this.#backOff.failures,
    };
  }

  /** Until the signal ends it, or what it goes over has ended. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const delayMs = await this.#round(signal);
      if (delayMs === undefined) {
        break;
      }
      if (delayMs > 0) {
        this.#state = 'waiting';
        await pause(this.#client.clock, delayMs, signal);
      }
    }
    this.#state = 'ended';
  }

  /** How long to wait for the next one; undefined: there is none. */
  async #round(signal: AbortSignal): Promise<number | undefined> {
    let worked = false;
    const fresh = this.#resourceVersion === undefined;
    const startedAt = this.#client.clock.now();
    try {
      if (fresh) {
        await this.#list(signal);
      }
      await this.#watch(signal, () => {
        worked = true;
      });
      worked ||= this.#client.clock.now() - startedAt >= minWatchMs;
      if (worked) {
        this.#backOff.reset();
        return 0;
      }
      return this.#backOff.nextMs();
    } catch (error) {
      return signal.aborted ? undefined : this.#afterFailure(error, worked, fresh);
    }
  }

  /** @param fresh it began with a list */
  #afterFailure(error: unknown, worked: boolean, fresh: boolean): number | undefined {
    if (worked) {
      this.#backOff.reset();
    }
    if (losesTrack(error)) {
      this.#resourceVersion = undefined;
    }
    this.#sink.failed(error instanceof Error ? error : new Error(String(error)));
    if (RoundhouseError.is(error) && final.has(error.code)) {
      return undefined;
    }
    const askedForMs = isApiStatus(error) ? Math.min(error.retryAfterMs ?? 0, maxRetryAfterMs) : 0;
    // A place that was forgotten meanwhile: nothing is wrong with the server, unless it was given out just now.
    return isApiStatus(error, 410) && (worked || !fresh) ? 0 : Math.max(this.#backOff.nextMs(), askedForMs);
  }

  async #list(signal: AbortSignal): Promise<void> {
    this.#state = 'listing';
    this.#lists += 1;
    this.#sink.listBegins();
    const { pageSize = defaultPageSize } = this.#options;
    const limit = this.#inOnePiece ? undefined : pageSize;
    let continueToken: string | undefined;
    let resourceVersion: string;
    do {
      const options = { ...this.#options, limit, continueToken, timeoutMs: listTimeoutMs, signal };
      const page = await this.#page(options);
      if (page.continueToken !== undefined && page.continueToken === continueToken) {
        throw new KubernetesError(
          'ERR_RH_API_ANSWER_INVALID',
          `a list of ${qualifiedName(this.#type)} goes round in a circle`,
        );
      }
      for (const item of page.items) {
        this.#sink.listed(item);
      }
      ({ continueToken, resourceVersion } = page);
    } while (continueToken !== undefined);
    this.#inOnePiece = false;
    this.#resourceVersion = resourceVersion;
    this.#sink.listEnds();
  }

  async #page(options: Parameters<KubeClient['list']>[1]): ReturnType<KubeClient['list']> {
    try {
      return await this.#client.list(this.#type, options);
    } catch (error) {
      this.#inOnePiece ||= isApiStatus(error, 410) && options?.continueToken !== undefined;
      throw error;
    }
  }

  async #watch(signal: AbortSignal, works: () => void): Promise<void> {
    this.#state = 'watching';
    this.#watches += 1;
    const options = { ...this.#options, resourceVersion: this.#resourceVersion, signal };
    await this.#client.watch(this.#type, options, (event) => {
      if (event.type === 'BOOKMARK') {
        this.#resourceVersion = event.resourceVersion;
        return;
      }
      if (this.#sink.changed(event)) {
        works();
      }
      this.#resourceVersion = event.object.metadata.resourceVersion ?? this.#resourceVersion;
    });
  }
}

/** What never comes back. */
const final: ReadonlySet<string> = new Set(['ERR_RH_IDENTITY_CLOSED', 'ERR_RH_POOL_CLOSED']);

/** Answers that say nothing about where the watch was: who asks, or how the server is. */
const passing: ReadonlySet<number> = new Set([401, 403, 429, 500, 502, 503, 504]);

/** An event could not be taken: from where the watch was, it would come again. */
const lost: ReadonlySet<string> = new Set(['ERR_RH_WATCH_INVALID', 'ERR_RH_INFORMER_FULL']);

/** Whether a watch from where it was would miss something, or fail for ever. */
function losesTrack(error: unknown): boolean {
  if (isApiStatus(error)) {
    return !passing.has(error.status) || isTooLargeVersion(error);
  }
  return RoundhouseError.is(error) && lost.has(error.code);
}

/** After a restore of etcd the versions begin anew below ours (k8s.io/apimachinery, storage, NewTooLargeResourceVersionError). */
function isTooLargeVersion({ status, causes, message }: ApiStatusError): boolean {
  return (
    status === 504 &&
    (causes.some(({ reason }) => reason === 'ResourceVersionTooLarge') ||
      message.includes('Too large resource version'))
  );
}
