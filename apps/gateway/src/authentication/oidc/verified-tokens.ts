/**
 * Tokens that were found good, so that a signature is not checked for each request. Not the tokens are kept but keyed digests
 * of them; each until the token expires, the least recently used one goes when there are too many, and all of them when the
 * issuer's keys change.
 */

import { createHmac, randomBytes } from 'node:crypto';
import type { Caller } from '../caller.ts';

interface Entry {
  readonly caller: Caller;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export class VerifiedTokens {
  readonly #key = randomBytes(32);
  readonly #limit: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, Entry>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(token: string): Caller | undefined {
    const key = this.#digest(token);
    const entry = this.#entries.get(key);
    if (entry === undefined) {
      return undefined;
    }
    this.#entries.delete(key);
    if (entry.expiresAt <= Date.now()) {
      return undefined;
    }
    this.#entries.set(key, entry);
    return entry.caller;
  }

  set(token: string, caller: Caller, expiresAt: number): void {
    this.#entries.set(this.#digest(token), { caller, expiresAt });
    if (this.#entries.size > this.#limit) {
      const [oldest] = this.#entries.keys();
      this.#entries.delete(oldest ?? '');
    }
  }

  clear(): void {
    this.#entries.clear();
  }

  #digest(token: string): string {
    return createHmac('sha256', this.#key).update(token).digest('base64');
  }
}
