/** How many tunnels, and dials under way, there are to whom: so that one cluster, alive or dead, leaves room for the others. */

import { TunnelError } from './errors.ts';
import type { TunnelTarget } from './dial-target.ts';
import type { TunnelLimits } from './limits.ts';

/** Of one tunnel, from its dial to the end of its stream. Each of the two is given back once. */
export interface TargetPlace {
  /** The dial is over, well or not. */
  dialed(): void;
  /** Somebody keeps the place until `ended`; without that it is given back with the dial. */
  keep(): void;
  ended(): void;
}

interface Numbers {
  dials: number;
  tunnels: number;
}

export interface TargetSnapshot {
  readonly host: string;
  /** Those that are being dialed and closed included. */
  readonly tunnels: number;
  readonly dialing: number;
}

export class TargetPlaces {
  readonly #limits: TunnelLimits;
  /** By host. One leaves with its last tunnel. */
  readonly #byHost = new Map<string, Numbers>();
  #tunnels = 0;

  constructor(limits: TunnelLimits) {
    this.#limits = limits;
  }

  /** @throws ERR_RH_TUNNEL_LIMIT */
  take({ host }: TunnelTarget): TargetPlace {
    const { maxTunnels, maxTunnelsPerTarget, maxDialsPerTarget } = this.#limits;
    const numbers = this.#byHost.get(host) ?? { dials: 0, tunnels: 0 };
    if (this.#tunnels >= maxTunnels) {
      throw limit(`${maxTunnels} tunnels are open or being opened (maxTunnels)`);
    }
    if (numbers.tunnels >= maxTunnelsPerTarget) {
      throw limit(`${maxTunnelsPerTarget} tunnels to ${host} are open or being opened (maxTunnelsPerTarget)`);
    }
    if (numbers.dials >= maxDialsPerTarget) {
      throw limit(`${maxDialsPerTarget} dials to ${host} are under way (maxDialsPerTarget)`);
    }
    this.#byHost.set(host, numbers);
    numbers.dials += 1;
    numbers.tunnels += 1;
    this.#tunnels += 1;
    let holders = 1;
    const letGo = (): void => {
      holders -= 1;
      if (holders === 0) {
        numbers.tunnels -= 1;
        this.#tunnels -= 1;
        if (numbers.tunnels === 0) {
          this.#byHost.delete(host);
        }
      }
    };
    return {
      dialed: () => {
        numbers.dials -= 1;
        letGo();
      },
      keep: () => {
        holders += 1;
      },
      ended: letGo,
    };
  }

  inspect(): readonly TargetSnapshot[] {
    return Array.from(this.#byHost, ([host, { tunnels, dials }]) => ({ host, tunnels, dialing: dials }));
  }
}

function limit(what: string): TunnelError {
  return new TunnelError('ERR_RH_TUNNEL_LIMIT', what);
}
