/**
 * Contents from a function that is asked again after every interval, and sooner while it fails. One question at a time, each
 * with a time limit; what it says after that is of no interest.
 */

import type { Timer } from '../clock.ts';
import type { PemMaterial } from '../tls-material.ts';
import type { FeedOptions, MaterialFeed } from './material-feed.ts';
import { unavailable } from './material-part.ts';
import type { MaterialContents } from './material-part.ts';

/** Gives every part of its source, each time. */
export type LoadMaterial = (signal: AbortSignal) => Promise<PemMaterial>;

/** After a failure it is asked again so soon, and twice as late each time, up to the interval. */
const firstRetryMs = 1_000;

export class CallbackFeed implements MaterialFeed {
  readonly #load: LoadMaterial;
  readonly #timeoutMs: number;
  readonly #options: FeedOptions;
  readonly #ended = new AbortController();
  #looking: Promise<void> | undefined;
  #timer: Timer | undefined;
  #failures = 0;

  constructor(load: LoadMaterial, timeoutMs: number, options: FeedOptions) {
    this.#load = load;
    this.#timeoutMs = timeoutMs;
    this.#options = options;
    void this.look();
  }

  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async settled(): Promise<void> {
    await this.#looking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended.abort();
    this.#timer?.cancel();
    await this.#looking;
  }

  async #look(): Promise<void> {
    this.#timer?.cancel();
    const found = await this.#ask().catch((cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      return unavailable(`the callback for TLS material failed: ${reason}`, cause);
    });
    if (this.#ended.signal.aborted) {
      return;
    }
    this.#failures = found instanceof Error ? this.#failures + 1 : 0;
    const { clock, intervalMs, take } = this.#options;
    take(found instanceof Error ? { ca: found, cert: found, key: found } : complete(found));
    const retryMs = this.#failures === 0 ? intervalMs : firstRetryMs * 2 ** (this.#failures - 1);
    this.#timer = clock.setTimeout(() => void this.look(), Math.min(intervalMs, retryMs));
  }

  async #ask(): Promise<PemMaterial> {
    const ended = this.#ended.signal;
    ended.throwIfAborted();
    const asking = new AbortController();
    const { promise: given, reject: giveUp } = Promise.withResolvers<never>();
    const end = (reason: unknown): void => {
      asking.abort(reason);
      giveUp(reason);
    };
    const onEnded = (): void => end(ended.reason);
    const timer = this.#options.clock.setTimeout(
      () => end(new Error(`no answer within ${this.#timeoutMs} ms`)),
      this.#timeoutMs,
    );
    // Not `AbortSignal.any`: Node.js keeps a composite that somebody listens to for as long as its sources live.
    ended.addEventListener('abort', onEnded, { once: true });
    try {
      // In a function of its own, so that what it throws is a rejection too: without the race nobody would hear of the end.
      const load = async (): Promise<PemMaterial> => await this.#load(asking.signal);
      return await Promise.race([load(), given]);
    } finally {
      ended.removeEventListener('abort', onEnded);
      timer.cancel();
    }
  }
}

/** A part that is not given any more is an error and no change: without its CA an endpoint would trust the public roots. */
function complete({ ca, cert, key }: PemMaterial): MaterialContents {
  const missing = (what: string): Error => unavailable(`the callback for TLS material gave no ${what}`);
  return {
    ca: ca ?? missing('CA'),
    cert: cert ?? missing('client certificate'),
    key: key ?? missing('client key'),
  };
}
