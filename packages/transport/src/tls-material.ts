/**
 * TLS material from bytes: a CA bundle, and a certificate with its key. Parsed and checked once, compared by content:
 * the same certificates in another order, with other line ends or comments, are the same material.
 */

import { X509Certificate, createHash, createPrivateKey } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { TransportError } from './errors.ts';

export interface PemMaterial {
  /** Trusted roots, one or many. Without it the roots that Node.js ships are trusted. */
  readonly ca?: string | Uint8Array | undefined;
  /** The client certificate, leaf first, and its chain. */
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
}

/** A bundle of all public roots is about 250 KiB; what is larger is no bundle. */
const maxPemBytes = 4 * 1_048_576;

const mismatch = { reason: 'mismatch' } as const;

const certificateBlock = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;
const certificateStart = /-----BEGIN CERTIFICATE-----/g;
/** A last line that a cut has left of the start of a block. */
const brokenStart = /(?:^|\n)-{1,5}(?:(?<=-----)B[A-Z ]*-{0,4})?$/;

export class TlsMaterial {
  /** No CA of its own and no client certificate: public roots, anonymous caller. */
  static readonly none = new TlsMaterial(undefined, undefined, undefined);

  /** Digest of the set of CA certificates; undefined for the roots that Node.js ships. */
  readonly caDigest: string | undefined;
  /** Digest of the certificate chain. It stands for the key too: the pair is checked, so no key byte is ever hashed. */
  readonly certDigest: string | undefined;
  /** The CA certificate that ends first. */
  readonly caExpiresAt: Date | undefined;
  /** When that one began, by which its length of life is known. */
  readonly caValidFrom: Date | undefined;
  readonly certExpiresAt: Date | undefined;
  readonly certValidFrom: Date | undefined;
  readonly #ca: readonly X509Certificate[] | undefined;
  readonly #chain: readonly X509Certificate[] | undefined;
  readonly #key: KeyObject | undefined;

  private constructor(
    ca: readonly X509Certificate[] | undefined,
    chain: readonly X509Certificate[] | undefined,
    key: KeyObject | undefined,
  ) {
    this.#ca = ca;
    this.#chain = chain;
    this.#key = key;
    this.caDigest =
      ca && digest([...new Set(ca.map((certificate) => certificate.fingerprint256))].toSorted());
    this.certDigest = chain && digest(chain.map((certificate) => certificate.fingerprint256));
    const firstToEnd = ca?.reduce((first, other) => (other.validToDate < first.validToDate ? other : first));
    this.caExpiresAt = firstToEnd?.validToDate;
    this.caValidFrom = firstToEnd?.validFromDate;
    this.certExpiresAt = chain?.[0]?.validToDate;
    this.certValidFrom = chain?.[0]?.validFromDate;
  }

  /**
   * @throws ERR_RH_MATERIAL_INVALID when something is empty, incomplete, not PEM or does not belong together. Nothing
   * of the input is in the message.
   */
  static fromPem(pem: PemMaterial): TlsMaterial {
    if (pem.ca === undefined && pem.cert === undefined && pem.key === undefined) {
      return TlsMaterial.none;
    }
    const ca = pem.ca === undefined ? undefined : parseCertificates('CA bundle', pem.ca);
    if ((pem.cert === undefined) !== (pem.key === undefined)) {
      const [given, missing] = pem.key === undefined ? ['certificate', 'key'] : ['key', 'certificate'];
      throw new TransportError('ERR_RH_MATERIAL_INVALID', `a client ${given} is given, but no ${missing}`);
    }
    if (pem.cert === undefined || pem.key === undefined) {
      return new TlsMaterial(ca, undefined, undefined);
    }
    const chain = parseCertificates('client certificate', pem.cert);
    const key = parseKey(pem.key);
    if (chain[0]?.checkPrivateKey(key) !== true) {
      throw new TransportError(
        'ERR_RH_MATERIAL_INVALID',
        'the client key does not belong to the client certificate',
        { data: mismatch },
      );
    }
    return new TlsMaterial(ca, chain, key);
  }

  /** Whether the error says that certificate and key are each whole, and not of each other: perhaps only one is written yet. */
  static isMismatch(error: unknown): boolean {
    return error instanceof TransportError && error.data === mismatch;
  }

  /** The trust of this one with the client certificate and key of another. */
  withPairOf(other: TlsMaterial): TlsMaterial {
    return this.#ca === undefined && other.#chain === undefined
      ? TlsMaterial.none
      : new TlsMaterial(this.#ca, other.#chain, other.#key);
  }

  equals(other: TlsMaterial): boolean {
    return this.caDigest === other.caDigest && this.certDigest === other.certDigest;
  }

  /** For `tls.createSecureContext`, and for nothing else: it holds the key. */
  secureContextOptions(): { ca?: string; cert?: string; key?: string } {
    return {
      ...(this.#ca && { ca: this.#ca.map(String).join('') }),
      ...(this.#chain && { cert: this.#chain.map(String).join('') }),
      ...(this.#key && { key: this.#key.export({ type: 'pkcs8', format: 'pem' }).toString() }),
    };
  }
}

function parseCertificates(what: string, bytes: string | Uint8Array): X509Certificate[] {
  const text = decode(what, bytes);
  const blocks = text.match(certificateBlock) ?? [];
  if (blocks.length === 0) {
    throw new TransportError('ERR_RH_MATERIAL_INVALID', `the ${what} holds no complete PEM certificate`);
  }
  // A bundle that was cut while it was written starts a block that it does not end. Blocks of other kinds are let
  // pass: a kubelet keeps its certificate and its key in one file.
  if ((text.match(certificateStart)?.length ?? 0) !== blocks.length || brokenStart.test(text)) {
    throw new TransportError('ERR_RH_MATERIAL_INVALID', `the ${what} holds an incomplete certificate`);
  }
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw new TransportError(
        'ERR_RH_MATERIAL_INVALID',
        `certificate ${index + 1} of the ${what} cannot be parsed`,
        {
          cause,
        },
      );
    }
  });
}

function parseKey(bytes: string | Uint8Array): KeyObject {
  const text = decode('client key', bytes);
  try {
    return createPrivateKey(text);
  } catch {
    // OpenSSL's message may quote what it read, so it is not kept as the cause.
    throw new TransportError(
      'ERR_RH_MATERIAL_INVALID',
      'the client key is not an unencrypted private key in PEM (PKCS#8, PKCS#1 or SEC1)',
    );
  }
}

function decode(what: string, bytes: string | Uint8Array): string {
  if (bytes.length > maxPemBytes) {
    throw new TransportError('ERR_RH_MATERIAL_INVALID', `the ${what} is larger than ${maxPemBytes} bytes`);
  }
  return typeof bytes === 'string' ? bytes : Buffer.from(bytes).toString('latin1');
}

function digest(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) {
    hash.update(`${part.length}:${part};`);
  }
  return hash.digest('hex');
}
