/** From the claims of a verified token to a caller, by the rules of the kube-apiserver's OIDC authenticator. */

import type { JWTPayload } from 'jose';
import type { Caller } from '../caller.ts';

export interface ClaimRules {
  readonly usernameClaim: string;
  /** Put before the user; may be empty. */
  readonly usernamePrefix: string;
  readonly groupsClaim: string | undefined;
  readonly groupsPrefix: string;
  /** Name of the extra field, in lower case, to the claim that it is made of. */
  readonly extraClaims: Readonly<Record<string, string>>;
  /** Claims that must have exactly this value. */
  readonly requiredClaims: Readonly<Record<string, string>>;
}

/** A claim is missing or is not what it must be. */
export class ClaimProblem extends Error {}

/** @throws ClaimProblem that names the claim and not its value */
export function callerFrom(claims: JWTPayload, rules: ClaimRules): Caller {
  for (const [name, wanted] of Object.entries(rules.requiredClaims)) {
    if (claimIn(claims, name) !== wanted) {
      throw new ClaimProblem(`the claim "${name}" does not have the value that is required`);
    }
  }
  const user = claimIn(claims, rules.usernameClaim);
  if (typeof user !== 'string' || user === '') {
    throw new ClaimProblem(`the claim "${rules.usernameClaim}", which names the user, is missing`);
  }
  const verified = claimIn(claims, 'email_verified');
  if (rules.usernameClaim === 'email' && verified !== undefined && verified !== true) {
    throw new ClaimProblem('the claim "email" is not verified');
  }
  const groups = rules.groupsClaim === undefined ? [] : textsIn(claims, rules.groupsClaim);
  const extra = new Map(
    Object.entries(rules.extraClaims)
      .map(([key, name]) => [key, textsIn(claims, name)] as const)
      .filter(([, values]) => values.length > 0),
  );
  const caller = {
    method: 'oidc' as const,
    user: ownName(rules.usernamePrefix + user, rules.usernameClaim),
    uid: undefined,
    groups: groups.map((group) => ownName(rules.groupsPrefix + group, rules.groupsClaim ?? '')),
  };
  return extra.size === 0 ? caller : { ...caller, extra };
}

/** `system:masters` and its like are the clusters' own: an issuer does not give them away. */
function ownName(name: string, claim: string): string {
  if (name.startsWith('system:')) {
    throw new ClaimProblem(`the claim "${claim}" names somebody of the system`);
  }
  return name;
}

/** One text or a list of them; nothing when the claim is not there. */
function textsIn(claims: JWTPayload, name: string): string[] {
  const value = claimIn(claims, name);
  if (value === undefined || value === null) {
    return [];
  }
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.map((item) => {
    if (typeof item !== 'string' || item === '') {
      throw new ClaimProblem(`the claim "${name}" is neither text nor a list of texts`);
    }
    return item;
  });
}

/** Its own ones only: every object has a `constructor`. */
function claimIn(claims: JWTPayload, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}
