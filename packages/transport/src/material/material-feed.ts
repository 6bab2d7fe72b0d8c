/** Where contents come from. It runs from its opening to its end, looks by itself, and hands over all that it finds. */

import type { Clock } from '../clock.ts';
import type { MaterialContents } from './material-part.ts';

export interface MaterialFeed extends AsyncDisposable {
  /** Looks now; resolves when what was found has been handed over. Single-flight. Never rejects. */
  look(): Promise<void>;
  /** Resolves when what is being looked at by itself, if anything, has been handed over. Never rejects. */
  settled(): Promise<void>;
}

export interface FeedOptions {
  readonly clock: Clock;
  /** The longest time in which a change stays unseen. */
  readonly intervalMs: number;
  readonly take: (contents: MaterialContents) => void;
}

/** Begins to look at once. */
export type OpenFeed = (options: FeedOptions) => MaterialFeed;
