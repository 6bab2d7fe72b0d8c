/** Asks each request who is calling: by client certificate, then by token, as the kube-apiserver does; or nobody at all. */

import { TLSSocket } from 'node:tls';
import { GatewayError } from '../errors.ts';
import type { FrontRequest } from '../listener/front-request.ts';
import { anonymousCaller } from './caller.ts';
import type { Caller } from './caller.ts';
import type { ClientCa } from './client-ca.ts';
import { ClientCertificates } from './client-certificate.ts';
import type { TokenFile } from './token-file.ts';

export interface AuthenticatorOptions {
  /** Where the listener asks for client certificates: the authorities of now. */
  readonly clientCa: (() => ClientCa) | undefined;
  /** Those of now. */
  readonly tokens: (() => TokenFile) | undefined;
}

export class Authenticator {
  readonly #certificates: ClientCertificates | undefined;
  readonly #tokens: (() => TokenFile) | undefined;

  constructor({ clientCa, tokens }: AuthenticatorOptions) {
    this.#certificates = clientCa === undefined ? undefined : new ClientCertificates(clientCa);
    this.#tokens = tokens;
  }

  /** Whether callers are asked at all. */
  get on(): boolean {
    return this.#certificates !== undefined || this.#tokens !== undefined;
  }

  /** @throws ERR_RH_UNAUTHENTICATED */
  authenticate({ socket, authorization }: FrontRequest): Caller {
    if (!this.on) {
      return anonymousCaller;
    }
    const byCertificate = socket instanceof TLSSocket ? this.#certificates?.callerOf(socket) : undefined;
    if (byCertificate !== undefined) {
      return byCertificate;
    }
    const token = bearerTokenOf(authorization);
    const byToken = token === undefined ? undefined : this.#tokens?.().callerOf(token);
    if (byToken !== undefined) {
      return byToken;
    }
    throw new GatewayError('ERR_RH_UNAUTHENTICATED', this.#demand(token !== undefined));
  }

  #demand(hadToken: boolean): string {
    if (hadToken && this.#tokens !== undefined) {
      return 'the bearer token is not known here';
    }
    const ways = [
      ...(this.#certificates === undefined ? [] : ['a client certificate']),
      ...(this.#tokens === undefined ? [] : ['a bearer token']),
    ];
    return `the request has neither been authenticated nor can it be: send ${ways.join(' or ')}`;
  }
}

function bearerTokenOf(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization)?.[1];
}
