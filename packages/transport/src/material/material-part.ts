/**
 * One of the two parts of TLS material, the CA or the pair of certificate and key: what was found last, and the last good of it,
 * which stays while what is found cannot be used.
 */

import { isDeepStrictEqual } from 'node:util';
import { TransportError } from '../errors.ts';
import { TlsMaterial } from '../tls-material.ts';

/** `pair`: the client certificate with its key. */
export type MaterialPartName = 'ca' | 'pair';

/** As it was found: bytes, or why there are none. */
export type MaterialContent = string | Uint8Array | Error;

/** What was found. A part that is left out was not looked for, and stays what it was: none goes away by itself. */
export interface MaterialContents {
  readonly ca?: MaterialContent | undefined;
  /** With `key`. */
  readonly cert?: MaterialContent | undefined;
  readonly key?: MaterialContent | undefined;
}

export interface MaterialPartStatus {
  /** Counts the contents that were in use; 0: none yet. */
  readonly generation: number;
  /** Since when the present one is in use. */
  readonly since: Date | undefined;
  /** Of the certificate in use that ends first; of a pair its leaf. */
  readonly expiresAt: Date | undefined;
  /** When that one began. */
  readonly validFrom: Date | undefined;
  /** Why what was found last is not in use; undefined when it is. */
  readonly error: Error | undefined;
  readonly errorSince: Date | undefined;
  /** Contents that could not be used, each counted once. */
  readonly badGenerations: number;
}

/** - `same`: nothing to tell. - `changed`: other material is in use. - `bad`: what was found cannot be used. */
export type PartOutcome = 'same' | 'changed' | 'bad';

export class MaterialPart {
  /** With this part only; undefined while there was none that could be used. */
  material: TlsMaterial | undefined;
  readonly name: MaterialPartName;
  #seen: readonly (Buffer | string)[] | undefined;
  #generation = 0;
  #since: Date | undefined;
  #error: Error | undefined;
  #errorSince: Date | undefined;
  #badGenerations = 0;

  constructor(name: MaterialPartName) {
    this.name = name;
  }

  get error(): Error | undefined {
    return this.#error;
  }

  get status(): MaterialPartStatus {
    const { material } = this;
    const ca = this.name === 'ca';
    return {
      generation: this.#generation,
      since: this.#since,
      expiresAt: ca ? material?.caExpiresAt : material?.certExpiresAt,
      validFrom: ca ? material?.caValidFrom : material?.certValidFrom,
      error: this.#error,
      errorSince: this.#errorSince,
      badGenerations: this.#badGenerations,
    };
  }

  /** A bad one is counted apart, since a half of it may still be on its way. */
  countBad(): void {
    this.#badGenerations += 1;
  }

  /** @param now milliseconds since the epoch */
  take(contents: MaterialContents, now: number): PartOutcome {
    const found = this.name === 'ca' ? [contents.ca] : [contents.cert, contents.key];
    if (found.every((content) => content === undefined)) {
      return 'same';
    }
    const seen = found.map(comparable);
    if (isDeepStrictEqual(seen, this.#seen)) {
      return 'same';
    }
    this.#seen = seen;
    try {
      return this.#use(parse(this.name, contents), now);
    } catch (error) {
      this.#errorSince = this.#error === undefined ? new Date(now) : this.#errorSince;
      this.#error = error instanceof Error ? error : new Error(String(error));
      return 'bad';
    }
  }

  #use(material: TlsMaterial, now: number): PartOutcome {
    this.#error = undefined;
    this.#errorSince = undefined;
    // Coming back to what was in use all the time is no change, and neither are the same certificates in other words.
    if (this.material?.equals(material) === true) {
      return 'same';
    }
    this.material = material;
    this.#generation += 1;
    this.#since = new Date(now);
    return 'changed';
  }
}

function parse(name: MaterialPartName, { ca, cert, key }: MaterialContents): TlsMaterial {
  for (const content of name === 'ca' ? [ca] : [cert, key]) {
    if (content instanceof Error) {
      throw content;
    }
  }
  return TlsMaterial.fromPem(name === 'ca' ? { ca: bytes(ca) } : { cert: bytes(cert), key: bytes(key) });
}

function bytes(content: MaterialContent | undefined): string | Uint8Array | undefined {
  return content instanceof Error ? undefined : content;
}

/** Kept as it is and not as a digest: a digest of a key is something to guess against. */
function comparable(content: MaterialContent | undefined): Buffer | string {
  if (content === undefined) {
    return '-';
  }
  return content instanceof Error ? `!${content.message}` : Buffer.from(content);
}

/** A file, an answer or a part that is not there. */
export function unavailable(message: string, cause?: unknown): TransportError {
  return new TransportError('ERR_RH_MATERIAL_UNAVAILABLE', message, { cause });
}
