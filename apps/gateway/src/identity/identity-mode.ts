/**
 * In whose name a cluster is asked:
 *
 * - `impersonate`: with the gateway's credential, in the name of the authenticated caller. Default where callers are asked.
 * - `passthrough`: with the caller's own bearer token, and with nothing of the gateway's.
 * - `gateway`: with the gateway's credential, in its own name, whoever calls. Default where nobody is asked.
 */
export const identityModes = ['impersonate', 'passthrough', 'gateway'] as const;

export type IdentityMode = (typeof identityModes)[number];
