/**
 * A caller's certificate: user from the common name, groups from the organisations, as in the kube-apiserver
 * (k8s.io/apiserver, authentication/request/x509). TLS has verified it against the client CA before.
 */

import type { X509Certificate } from 'node:crypto';
import type { PeerCertificate, TLSSocket } from 'node:tls';
import { GatewayError } from '../errors.ts';
import type { Caller } from './caller.ts';
import { maxChain } from './client-ca.ts';
import type { ClientCa } from './client-ca.ts';

interface Verified {
  readonly caller: Caller;
  /** Under which it was found good. */
  readonly ca: ClientCa;
  readonly chain: readonly X509Certificate[];
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export class ClientCertificates {
  /** One look at a certificate per connection and bundle, and not per request; an entry goes with its socket. */
  readonly #verified = new WeakMap<TLSSocket, Verified>();
  readonly #ca: () => ClientCa;

  /** @param ca the present one, which is looked up for each request */
  constructor(ca: () => ClientCa) {
    this.#ca = ca;
  }

  /**
   * Undefined when the client showed none.
   *
   * @throws ERR_RH_UNAUTHENTICATED when it showed one that is not good
   */
  callerOf(socket: TLSSocket): Caller | undefined {
    const ca = this.#ca();
    let verified = this.#verified.get(socket);
    if (verified?.ca !== ca) {
      const certificate = socket.getPeerCertificate();
      if (Object.keys(certificate).length === 0) {
        return undefined;
      }
      verified = verify(socket, certificate, verified?.chain ?? chainOf(socket), ca);
      this.#verified.set(socket, verified);
    }
    // A connection may outlive the certificate that opened it.
    if (verified.expiresAt < Date.now()) {
      throw new GatewayError('ERR_RH_UNAUTHENTICATED', 'the client certificate has expired');
    }
    return verified.caller;
  }
}

/** At the first look: Node.js 24 gives the chain behind the certificate once only. */
function chainOf(socket: TLSSocket): readonly X509Certificate[] {
  const chain: X509Certificate[] = [];
  let next = socket.getPeerX509Certificate();
  while (next !== undefined && chain.length < maxChain) {
    chain.push(next);
    next = next.issuerCertificate;
  }
  return chain;
}

function verify(
  socket: TLSSocket,
  certificate: PeerCertificate,
  chain: readonly X509Certificate[],
  ca: ClientCa,
): Verified {
  // The first is what TLS has found at the handshake, against the bundle of that time.
  if (!socket.authorized || !ca.accepts(chain)) {
    throw new GatewayError('ERR_RH_UNAUTHENTICATED', 'the client certificate is not trusted here');
  }
  const names = valuesOf(certificate.subject.CN);
  const [user] = names;
  // Readers differ in which of several names counts.
  if (user === undefined || user === '' || names.length > 1) {
    throw new GatewayError('ERR_RH_UNAUTHENTICATED', 'the client certificate does not have one common name');
  }
  return {
    caller: { method: 'certificate', user, uid: undefined, groups: valuesOf(certificate.subject.O) },
    ca,
    chain,
    expiresAt: Date.parse(certificate.valid_to),
  };
}

/** Node.js gives a list where there are several, though its types know of one. */
function valuesOf(field: unknown): string[] {
  if (field === undefined) {
    return [];
  }
  const values: readonly unknown[] = Array.isArray(field) ? field : [field];
  return values.filter((value) => typeof value === 'string');
}
