/** Asks each request who is calling: by client certificate, then by token (of the file, of the issuer), as the kube-apiserver does; or nobody at all. */

import { TLSSocket } from 'node:tls';
import { GatewayError } from '../errors.ts';
import type { FrontRequest } from '../listener/front-request.ts';
import { anonymousCaller } from './caller.ts';
import type { Caller } from './caller.ts';
import type { ClientCa } from './client-ca.ts';
import { ClientCertificates } from './client-certificate.ts';
import type { OidcTokens } from './oidc/oidc-tokens.ts';
import type { TokenFile } from './token-file.ts';

export interface AuthenticatorOptions {
  /** Where the listener asks for client certificates: the authorities of now. */
  readonly clientCa: (() => ClientCa) | undefined;
  /** Those of now. */
  readonly tokens: (() => TokenFile) | undefined;
  readonly oidc: Pick<OidcTokens, 'callerOf'> | undefined;
}

export class Authenticator {
  readonly #certificates: ClientCertificates | undefined;
  readonly #tokens: (() => TokenFile) | undefined;

  readonly #oidc: AuthenticatorOptions['oidc'];

  constructor({ clientCa, tokens, oidc }: AuthenticatorOptions) {
    this.#certificates = clientCa === undefined ? undefined : new ClientCertificates(clientCa);
    this.#tokens = tokens;
    this.#oidc = oidc;
  }

  /** Whether callers are asked at all. */
  get on(): boolean {
    return this.#certificates !== undefined || this.#tokens !== undefined || this.#oidc !== undefined;
  }

  /**
   * A promise only where a token's signature has to be looked at.
   *
   * @throws ERR_RH_UNAUTHENTICATED, ERR_RH_ISSUER_UNREACHABLE
   */
  authenticate({ socket, authorization }: FrontRequest): Caller | Promise<Caller> {
    if (!this.on) {
      return anonymousCaller;
    }
    const byCertificate = socket instanceof TLSSocket ? this.#certificates?.callerOf(socket) : undefined;
    if (byCertificate !== undefined) {
      return byCertificate;
    }
    const token = bearerTokenOf(authorization);
    const byToken =
      token === undefined ? undefined : (this.#tokens?.().callerOf(token) ?? this.#oidc?.callerOf(token));
    if (byToken !== undefined) {
      return byToken;
    }
    throw new GatewayError('ERR_RH_UNAUTHENTICATED', this.#demand(token !== undefined));
  }

  #demand(hadToken: boolean): string {
    if (hadToken && (this.#tokens !== undefined || this.#oidc !== undefined)) {
      return 'the bearer token is not known here';
    }
    const ways = [
      ...(this.#certificates === undefined ? [] : ['a client certificate']),
      ...(this.#tokens === undefined && this.#oidc === undefined ? [] : ['a bearer token']),
    ];
    return `the request has neither been authenticated nor can it be: send ${ways.join(' or ')}`;
  }
}

function bearerTokenOf(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : /^Bearer +([\x21-\x7e]+) *$/i.exec(authorization)?.[1];
}
