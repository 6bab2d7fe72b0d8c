import type { Command } from 'commander';
import type { Context } from '../context.ts';
import { readVersion } from '../version.ts';
import type { CommandModule } from './command-module.ts';
import { Option } from 'commander';

export const versionCommand: CommandModule = {
  define(command: Command, { terminal }: Context): void {
    command
      .addOption(
        new Option('-o, --output <format>', 'how to print').choices(['text', 'json', 'yaml']).default('text'),
      )
      .action(async ({ output }: { output: 'text' | 'json' | 'yaml' }) => {
        const facts = {
          roundhouse: readVersion(),
          node: process.versions.node,
          openssl: process.versions.openssl,
          platform: `${process.platform}-${process.arch}`,
        };
        if (output === 'json') terminal.write(`${JSON.stringify(facts, null, 2)}\n`);
        else if (output === 'yaml') terminal.write((await import('yaml')).stringify(facts));
        else
          terminal.write(
            Object.entries(facts)
              .map(([name, value]) => `${name} ${value}\n`)
              .join(''),
          );
      });
  },
};
