/**
 * The keys by which an issuer signs: found by discovery (OpenID Connect Discovery 1.0, section 4), read again from time to
 * time, when a token names a key that is not known, and after failures. The last good ones stay. It owns its timer and its
 * requests; who asks while a reading is under way waits for that one.
 */

import { createHash } from 'node:crypto';
import type { Logger } from '@roundhouse/process';
import type { TlsMaterial, TransportPool } from '@roundhouse/transport';
import { createLocalJWKSet } from 'jose';
import type { JSONWebKeySet, JWTVerifyGetKey } from 'jose';
import { z } from 'zod';
import { fetchJson } from './fetch-json.ts';

export interface IssuerKeysOptions {
  /** `https://issuer.example.com/path`, exactly as tokens have it. */
  readonly issuer: string;
  readonly pool: TransportPool;
  /** Whom to trust as the issuer, now. */
  readonly material: () => TlsMaterial;
  readonly log: Logger;
  /** The keys have changed. */
  readonly onChange: () => void;
  /** Time between two readings. Default 10 min: a key that the issuer takes back is refused within it. */
  readonly intervalMs?: number | undefined;
  /** Shortest time between two readings that tokens ask for. Default 10 s: tokens are whatever a client writes. */
  readonly minGapMs?: number | undefined;
  /** After a failure, doubled up to 30 s. Default 1 s. */
  readonly retryMs?: number | undefined;
}

const maxRetryMs = 30_000;
const maxKeys = 100;

const discoverySchema = z.looseObject({ issuer: z.string(), jwks_uri: z.url() });
const keysSchema = z.looseObject({
  keys: z.array(z.looseObject({ kty: z.string() })).max(maxKeys),
});

export class IssuerKeys implements AsyncDisposable {
  readonly #options: IssuerKeysOptions;
  readonly #abort = new AbortController();
  #lookup: JWTVerifyGetKey | undefined;
  #digest = '';
  #error: Error | undefined = new Error('its keys have not been read yet');
  #failures = 0;
  #reading: Promise<void> | undefined;
  #readAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  private constructor(options: IssuerKeysOptions) {
    this.#options = options;
  }

  /** Does not wait for the issuer, which may be down when the gateway starts. */
  static open(options: IssuerKeysOptions): IssuerKeys {
    const keys = new IssuerKeys(options);
    void keys.#read();
    return keys;
  }

  /** For `jwtVerify`; undefined while there are none. */
  get lookup(): JWTVerifyGetKey | undefined {
    return this.#lookup;
  }

  /** Why the last reading failed; undefined when it did not. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** For a token whose key is not known. Whether it was worth it: the keys are others now. */
  async refetch(): Promise<boolean> {
    const before = this.#digest;
    const { minGapMs = 10_000 } = this.#options;
    if (this.#reading !== undefined) {
      await this.#reading;
    } else if (performance.now() - this.#readAt >= minGapMs) {
      await this.#read();
    }
    return this.#digest !== before;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort(new Error('the gateway is closing'));
    clearTimeout(this.#timer);
    await this.#reading;
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readOnce().finally(() => {
      this.#reading = undefined;
    });
    return this.#reading;
  }

  async #readOnce(): Promise<void> {
    const { issuer, log, intervalMs = 600_000, retryMs = 1_000 } = this.#options;
    clearTimeout(this.#timer);
    this.#readAt = performance.now();
    let nextMs = intervalMs;
    try {
      this.#take(await this.#fetch());
      this.#failures = 0;
      this.#error = undefined;
    } catch (error) {
      if (this.#abort.signal.aborted) {
        return;
      }
      const reason = error instanceof Error ? error.message : String(error);
      if (this.#failures === 0 || this.#error?.message !== reason) {
        log.error(
          { issuer, reason },
          this.#lookup === undefined
            ? 'no keys of the issuer'
            : 'issuer keys unreadable, the last good ones stay in use',
        );
      }
      this.#error = new Error(reason, { cause: error });
      nextMs = Math.min(retryMs * 2 ** this.#failures, maxRetryMs, intervalMs);
      this.#failures = Math.min(this.#failures + 1, 16);
    }
    if (!this.#abort.signal.aborted) {
      this.#timer = setTimeout(() => void this.#read(), nextMs);
      this.#timer.unref();
    }
  }

  async #fetch(): Promise<JSONWebKeySet> {
    const { issuer, pool, material } = this.#options;
    const get = (url: URL): Promise<unknown> => fetchJson(pool, url, material(), this.#abort.signal);
    const found = discoverySchema.safeParse(
      await get(new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)),
    );
    if (!found.success) {
      throw new Error('its discovery document has no issuer or no jwks_uri');
    }
    if (found.data.issuer !== issuer) {
      throw new Error('its discovery document is of another issuer');
    }
    const url = new URL(found.data.jwks_uri);
    if (url.protocol !== 'https:') {
      throw new Error('its jwks_uri is not https');
    }
    const parsed = keysSchema.safeParse(await get(url));
    if (!parsed.success) {
      throw new Error('its key set cannot be read as one');
    }
    // A shared secret among public keys would let everybody who can read them sign.
    const keys = parsed.data.keys.filter(
      (key) => ['RSA', 'EC', 'OKP'].includes(key.kty) && key['use'] !== 'enc',
    );
    if (keys.length === 0) {
      throw new Error('its key set has no public key for signatures');
    }
    return { keys };
  }

  #take(set: JSONWebKeySet): void {
    const digest = createHash('sha256').update(JSON.stringify(set)).digest('hex');
    if (digest === this.#digest) {
      return;
    }
    this.#lookup = createLocalJWKSet(set);
    this.#digest = digest;
    this.#options.log.info({ issuer: this.#options.issuer, keys: set.keys.length }, 'issuer keys read');
    this.#options.onChange();
  }
}
