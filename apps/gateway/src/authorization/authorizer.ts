/**
 * Where it is decided what a caller may do. What is decided on is the route, whose target is what is sent, and the cluster's
 * own name, whatever name it was asked by.
 */

import type { Caller } from '../authentication/caller.ts';
import { impersonationWish } from '../identity/impersonation-wish.ts';
import type { Route } from '../routing/route.ts';
import { actionOf } from './action.ts';
import type { Action } from './action.ts';
import { forbidden } from './forbidden.ts';
import { impersonationActions } from './impersonation-actions.ts';
import type { Policy } from './policy.ts';

/** A cluster as it was asked for. */
export interface AskedCluster {
  /** Its own name; where there is none, as the caller wrote it, so that both are decided alike. */
  readonly name: string;
  readonly asked: string;
}

export interface Authorizer {
  /**
   * Whom the request is made as: the caller, or whom the caller wants to act as and may.
   *
   * @throws ERR_RH_FORBIDDEN, ERR_RH_REQUEST_MALFORMED, ERR_RH_IDENTITY_FIELD_REFUSED
   */
  subjectOf(caller: Caller, cluster: AskedCluster, fields: readonly string[]): Caller;
  /**
   * The name of the rule that allows it; undefined where there are no rules.
   *
   * @throws ERR_RH_FORBIDDEN
   */
  authorize(caller: Caller, cluster: AskedCluster, route: Route): string | undefined;
}

/** Whoever is let in may ask for everything; what they get, each cluster decides by the identity that it sees. */
export const leaveToClusters: Authorizer = {
  // Fields by which a client says otherwise are refused where the others are passed on.
  subjectOf: (caller) => caller,
  authorize: () => undefined,
};

export class PolicyAuthorizer implements Authorizer {
  readonly #policy: () => Policy;

  /** @param policy the present one, which is looked up for each request */
  constructor(policy: () => Policy) {
    this.#policy = policy;
  }

  authorize(caller: Caller, cluster: AskedCluster, route: Route): string | undefined {
    return this.#allow(caller, cluster, actionOf(route));
  }

  subjectOf(caller: Caller, cluster: AskedCluster, fields: readonly string[]): Caller {
    const wish = impersonationWish(fields);
    if (wish === undefined) {
      return caller;
    }
    for (const action of impersonationActions(wish)) {
      this.#allow(caller, cluster, action);
    }
    return { method: caller.method, ...wish };
  }

  #allow(caller: Caller, { name, asked }: AskedCluster, action: Action): string | undefined {
    const { allowed, rule } = this.#policy().decide(caller, name, action);
    if (!allowed) {
      throw forbidden(caller.user, asked, action, rule);
    }
    return rule;
  }
}
