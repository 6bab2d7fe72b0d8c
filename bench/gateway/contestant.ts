/** A proxy that takes part: how it is started in front of an upstream, and what is to be said about how it was set up. */

import type { Rig, UpstreamName } from './rig.ts';

export type Front = 'http' | 'https';

export interface Setting {
  readonly rig: Rig;
  readonly upstream: UpstreamName;
  readonly front: Front;
}

export interface RunningProxy extends AsyncDisposable {
  readonly pid: number;
  /** Where the upstream's root is, without a slash at the end. */
  readonly url: string;
}

export interface Contestant {
  readonly name: ContestantName;
  /** One line for the page. */
  readonly setup: string;
  start(setting: Setting): Promise<RunningProxy>;
}

export type ContestantName =
  | 'gateway'
  | 'gateway, baseline'
  | 'gateway, h2 upstream'
  | 'gateway, http/1.1 upstream'
  | 'gateway, no log'
  | 'gateway, no log, no metrics'
  | 'gateway, TLS in front'
  | 'kubectl proxy'
  | 'nginx';
