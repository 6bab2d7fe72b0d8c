import type { Terminal } from './output/terminal.ts';

/** What a command sees of the world; tests give their own. */
export interface Context {
  readonly terminal: Terminal;
  /** Ends on ctrl-C and SIGTERM. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
}
