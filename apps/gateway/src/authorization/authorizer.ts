/** The seam where it is decided what a caller may do. What is decided on is the route, whose target is what is sent. */

import type { Caller } from '../authentication/caller.ts';
import type { Route } from '../routing/route.ts';

/** Throws when the caller may not. */
export type Authorizer = (caller: Caller, route: Route) => void;

/** Whoever is let in may ask for everything; what they get, each cluster decides by the identity that it sees. */
export const leaveToClusters: Authorizer = () => undefined;
