/**
 * The authorities whose client certificates are let in. TLS verifies against them at the handshake; this verifies again, for
 * connections that live longer than the bundle that they were opened under.
 */

import { X509Certificate } from 'node:crypto';
import { TlsMaterial } from '@roundhouse/transport';

/** Longer chains are none that anybody has. */
const maxChain = 8;

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

  /** Whether the certificate leads to a root of the bundle, as OpenSSL asks it; its purpose was looked at by TLS. */
  accepts(certificate: X509Certificate, depth = 0): boolean {
    if (depth >= maxChain || !isValidNow(certificate)) {
      return false;
    }
    const sent = certificate.issuerCertificate;
    const candidates = sent === undefined || !sent.ca ? this.#authorities : [...this.#authorities, sent];
    return candidates.some(
      (issuer) =>
        issued(issuer, certificate) &&
        // The root must be of the bundle; a client may send whatever root it likes.
        (issued(issuer, issuer)
          ? this.#authorities.includes(issuer) && isValidNow(issuer)
          : this.accepts(issuer, depth + 1)),
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
