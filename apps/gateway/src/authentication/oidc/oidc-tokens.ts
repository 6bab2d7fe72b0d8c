/** Callers by the tokens of an OIDC issuer: signature, issuer, audience, times, then claims. */

import { decodeJwt, errors, jwtVerify } from 'jose';
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose';
import { GatewayError } from '../../errors.ts';
import type { Caller } from '../caller.ts';
import { ClaimProblem, callerFrom } from './claims.ts';
import type { ClaimRules } from './claims.ts';
import type { IssuerKeys } from './issuer-keys.ts';
import type { VerifiedTokens } from './verified-tokens.ts';

export interface OidcRules extends ClaimRules {
  readonly issuer: string;
  /** One of them is enough. */
  readonly audiences: readonly string[];
  readonly algorithms: readonly string[];
  readonly clockSkewMs: number;
}

/** Longer ones are not looked at. */
const maxTokenLength = 32_768;

export class OidcTokens {
  readonly #rules: OidcRules;
  readonly #options: JWTVerifyOptions;
  readonly #keys: IssuerKeys;
  readonly #verified: VerifiedTokens;

  constructor(rules: OidcRules, keys: IssuerKeys, verified: VerifiedTokens) {
    this.#rules = rules;
    this.#options = {
      issuer: rules.issuer,
      audience: [...rules.audiences],
      algorithms: [...rules.algorithms],
      clockTolerance: rules.clockSkewMs / 1000,
      requiredClaims: ['exp'],
    };
    this.#keys = keys;
    this.#verified = verified;
  }

  /**
   * Undefined when the token is none of this issuer's.
   *
   * @throws ERR_RH_UNAUTHENTICATED when it is and is not good; ERR_RH_ISSUER_UNREACHABLE when that cannot be found out
   */
  callerOf(token: string): Caller | undefined | Promise<Caller> {
    const known = this.#verified.get(token);
    if (known !== undefined) {
      return known;
    }
    return token.length <= maxTokenLength && claimedIssuer(token) === this.#rules.issuer
      ? this.#verify(token)
      : undefined;
  }

  async #verify(token: string): Promise<Caller> {
    const { lookup } = this.#keys;
    if (lookup === undefined) {
      throw new GatewayError(
        'ERR_RH_ISSUER_UNREACHABLE',
        `tokens of ${this.#rules.issuer} cannot be verified now: its keys could not be read`,
        { cause: this.#keys.error },
      );
    }
    try {
      const claims = await this.#claimsOf(token, lookup);
      const caller = callerFrom(claims, this.#rules);
      this.#verified.set(token, caller, (claims.exp ?? 0) * 1000 + this.#rules.clockSkewMs);
      return caller;
    } catch (error) {
      throw new GatewayError('ERR_RH_UNAUTHENTICATED', `the token is not accepted: ${reasonOf(error)}`);
    }
  }

  async #claimsOf(token: string, lookup: JWTVerifyGetKey): Promise<JWTPayload> {
    try {
      return await verifyBy(token, lookup, this.#options);
    } catch (error) {
      // The issuer may have begun to sign with another key.
      if (error instanceof errors.JWKSNoMatchingKey && (await this.#keys.refetch())) {
        return await verifyBy(token, this.#keys.lookup ?? lookup, this.#options);
      }
      throw error;
    }
  }
}

/** A token that does not name its key is tried with each that could be meant. */
async function verifyBy(
  token: string,
  lookup: JWTVerifyGetKey,
  options: JWTVerifyOptions,
): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, lookup, options)).payload;
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) {
      throw error;
    }
    let last: unknown = error;
    for await (const key of error) {
      try {
        return (await jwtVerify(token, key, options)).payload;
      } catch (failure) {
        last = failure;
      }
    }
    throw last;
  }
}

/** Unverified: only to tell whose token it wants to be. */
function claimedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof ClaimProblem) {
    return error.message;
  }
  if (error instanceof errors.JWTExpired) {
    return 'it has expired';
  }
  if (error instanceof errors.JWTClaimValidationFailed) {
    return error.claim === 'nbf' ? 'it is not valid yet' : `its claim "${error.claim}" is not as demanded`;
  }
  if (error instanceof errors.JOSEAlgNotAllowed) {
    return 'it is signed by an algorithm that is not allowed';
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return 'its signature is wrong';
  }
  if (error instanceof errors.JWKSNoMatchingKey) {
    return 'the issuer has no such key';
  }
  return 'it is not a valid JWT';
}
