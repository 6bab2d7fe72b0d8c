import type { Command } from 'commander';
import type { Context } from '../context.ts';
import type { CommandModule } from './command-list.ts';

export const gatewayCommand: CommandModule = {
  define(command: Command, _context: Context): void {
    command.action(() => {});
  },
};
