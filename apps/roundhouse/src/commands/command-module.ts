// What a file beside this one exports: one subcommand.

import type { Command } from 'commander';
import type { Context } from '../context.ts';

export interface CommandModule {
  /** Adds arguments, options, help and the action to `command`, which has its name and summary already. */
  define(command: Command, context: Context): void;
}
