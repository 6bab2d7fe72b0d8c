/**
 * What a program has opened, in order; it is closed in the opposite order, one after the other, within one deadline. A
 * thing that hangs is recorded by its name and left behind, so that it cannot keep the others from closing.
 */

import { ProcessError } from './errors.ts';

export interface ScopeCloseReport {
  /** Names of what did not end within the deadline, in the order in which it was closed. */
  readonly hung: readonly string[];
  /** How long each took. */
  readonly tookMs: readonly { readonly name: string; readonly ms: number }[];
}

interface Entry {
  readonly name: string;
  readonly close: () => void | PromiseLike<void>;
}

const defaultTimeoutMs = 10_000;

export class Scope implements AsyncDisposable {
  /** Bounded by what the program opens; emptied by closing. */
  #entries: Entry[] = [];
  #closing: Promise<ScopeCloseReport> | undefined;

  /** Owns the thing from now on. A scope that is closing takes nothing more: it would never be closed. */
  use<T extends AsyncDisposable | Disposable>(name: string, thing: T): T {
    this.defer(name, () =>
      Symbol.asyncDispose in thing ? thing[Symbol.asyncDispose]() : thing[Symbol.dispose](),
    );
    return thing;
  }

  /** Calls back at closing time, in its place in the order. */
  defer(name: string, close: () => void | PromiseLike<void>): void {
    if (this.#closing !== undefined) {
      throw new Error(`the scope is closing and cannot own ${name}`);
    }
    this.#entries.push({ name, close });
  }

  /**
   * @param timeoutMs for everything together; 10 s by default
   * @throws the first error, those that followed attached by SuppressedError, once everything was closed
   */
  close({ timeoutMs = defaultTimeoutMs }: { readonly timeoutMs?: number } = {}): Promise<ScopeCloseReport> {
    this.#closing ??= this.#close(timeoutMs);
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { hung } = await this.close();
    if (hung.length > 0) {
      throw new ProcessError('ERR_RH_SCOPE_CLOSE_TIMEOUT', `did not end in time: ${hung.join(', ')}`);
    }
  }

  async #close(timeoutMs: number): Promise<ScopeCloseReport> {
    const deadline = performance.now() + timeoutMs;
    const hung: string[] = [];
    const tookMs: { name: string; ms: number }[] = [];
    const errors: unknown[] = [];
    const entries = this.#entries.toReversed();
    this.#entries = [];
    for (const { name, close } of entries) {
      const started = performance.now();
      try {
        // Called even when the deadline is over: what can end at once still does.
        if (!(await endedBefore(deadline, close))) {
          hung.push(name);
        }
      } catch (error) {
        errors.push(error);
      }
      tookMs.push({ name, ms: performance.now() - started });
    }
    if (errors.length > 0) {
      throw errors.reduce(
        (first, later) => new SuppressedError(first, later, 'closing failed more than once'),
      );
    }
    return { hung, tookMs };
  }
}

async function endedBefore(deadline: number, close: () => void | PromiseLike<void>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), Math.max(0, deadline - performance.now()));
  try {
    return await Promise.race([Promise.resolve(close()).then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
