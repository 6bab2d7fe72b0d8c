/** Which HTTP is spoken with clusters, as those who run the gateway say it. */

import type { AlpnPolicy } from '@roundhouse/transport';

/** `auto`: what measures best for each kind of request (docs/adr/0008). */
export const upstreamAlpns = ['auto', 'http/1.1', 'h2'] as const;

export type UpstreamAlpn = (typeof upstreamAlpns)[number];

export function alpnPolicyOf(choice: UpstreamAlpn): AlpnPolicy {
  return choice === 'auto' ? 'by-kind' : choice;
}
