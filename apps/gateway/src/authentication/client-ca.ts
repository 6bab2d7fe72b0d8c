/**
 * The authorities whose client certificates are let in. TLS verifies against them at the handshake; this verifies again, for
 * connections that live longer than the bundle that they were opened under.
 */

import { X509Certificate } from 'node:crypto';
import { TlsMaterial } from '@roundhouse/transport';

/** Longer chains are none that anybody has. */
export const maxChain = 8;

export class ClientCa {
  readonly pem: Buffer;
  readonly #authorities: readonly X509Certificate[];

  private constructor(pem: Buffer, authorities: readonly X509Certificate[]) {
    this.pem = pem;
    this.#authorities = authorities;
  }

  /** @throws Error that says what is wrong with the bundle */
  static parse(pem: Buffer): ClientCa {
    // It knows more ways of being broken than we look for, empty bundles among them.
    TlsMaterial.fromPem({ ca: pem });
    const certificates = pem
      .toString('latin1')
      .match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g);
    return new ClientCa(
      pem,
      (certificates ?? []).map((text) => new X509Certificate(text)),
    );
  }

  /**
   * Whether a client's certificate leads to a root of the bundle, as OpenSSL asks it; its purpose was looked at by TLS.
   *
   * @param chain the certificate, and what the client has sent behind it
   */
  accepts([certificate, ...sent]: readonly X509Certificate[]): boolean {
    const intermediates = [...this.#authorities, ...sent.slice(0, maxChain).filter(({ ca }) => ca)];
    return certificate !== undefined && this.#leadsToRoot(certificate, intermediates, 0);
  }

  #leadsToRoot(certificate: X509Certificate, issuers: readonly X509Certificate[], depth: number): boolean {
    if (depth >= maxChain || !isValidNow(certificate)) {
      return false;
    }
    return issuers.some(
      (issuer) =>
        issued(issuer, certificate) &&
        // The root must be of the bundle; a client may send whatever root it likes.
        (issued(issuer, issuer)
          ? this.#authorities.includes(issuer) && isValidNow(issuer)
          : this.#leadsToRoot(issuer, issuers, depth + 1)),
    );
  }
}

function issued(issuer: X509Certificate, certificate: X509Certificate): boolean {
  return certificate.checkIssued(issuer) && certificate.verify(issuer.publicKey);
}

function isValidNow({ validFromDate, validToDate }: X509Certificate): boolean {
  const now = Date.now();
  return validFromDate.getTime() <= now && now <= validToDate.getTime();
}
