import { Option, type Command } from 'commander';
import { parseGatewayOptions } from '@roundhouse/gateway';
import { isCatalogued } from '../catalogued-error.ts';
import { CommandError } from '../command-error.ts';
import { describeGatewayOptions } from '../configuration/gateway-options.ts';
import { namePlaces, readLayers } from '../configuration/layers.ts';
import { renderConfiguration } from '../configuration/view.ts';
import type { Context } from '../context.ts';
import type { CommandModule } from './command-module.ts';

interface Flags {
  readonly config?: string;
  readonly output: 'yaml' | 'json';
  readonly showSources?: boolean;
}

export const configCommand: CommandModule = {
  define(command: Command, { terminal }: Context): void {
    const options = describeGatewayOptions();
    const view = command
      .command('view')
      .summary("print the gateway's configuration as it holds")
      .description(
        "Print the gateway's configuration as it holds: defaults, file, environment and flags together.",
      )
      .addOption(configOption())
      .option('--show-sources', 'with each value, where it comes from')
      .addOption(
        new Option('-o, --output <format>', 'how to print').choices(['yaml', 'json']).default('yaml'),
      )
      .addHelpText(
        'after',
        `
Takes all flags and environment variables of "roundhouse gateway" besides. Nothing that they name is read.

Examples:
  roundhouse config view --config gateway.yaml --show-sources
  roundhouse config view --config gateway.yaml --max-idle 10 -o json`,
      );
    for (const { option } of options) view.addOption(option.hideHelp());
    view.action(async (flags: Flags) => {
      const layers = await readLayers(view, options, flags.config);
      const { output, showSources = false } = flags;
      try {
        const values = parseGatewayOptions(layers.input);
        terminal.write(renderConfiguration(values, options, layers, { output, showSources }));
      } catch (error) {
        if (!isCatalogued(error)) throw error;
        throw new CommandError('configuration', namePlaces(error.message, options, layers), { cause: error });
      }
    });
  },
};

export function configOption(): Option {
  return new Option(
    '--config <file>',
    'options from a YAML file, with the keys of docs/configuration.md; flags and environment win over it',
  ).env('ROUNDHOUSE_GATEWAY_CONFIG');
}
