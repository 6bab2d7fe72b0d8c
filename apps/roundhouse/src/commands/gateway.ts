// `roundhouse gateway`: its flags are the gateway's options, its end is a signal.

import { once } from 'node:events';
import type { Command } from 'commander';
import { Gateway, gatewayOptionsSchema, parseGatewayOptions } from '@roundhouse/gateway';
import type { Context } from '../context.ts';
import { CommandError } from '../command-error.ts';
import { isCatalogued } from '../catalogued-error.ts';
import { collectOptions, describeOptions, nameFlags, type SchemaOption } from '../schema-options.ts';
import type { CommandModule } from './command-module.ts';

export const gatewayCommand: CommandModule = {
  define(command: Command, { terminal, signal }: Context): void {
    const options = describeOptions(gatewayOptionsSchema.toJSONSchema({ io: 'input' }), {
      envPrefix: 'ROUNDHOUSE_GATEWAY_',
      headings: { limits: 'Limits:' },
    });
    for (const { option } of options) command.addOption(option);
    command
      .addHelpText(
        'after',
        `
Durations are written 500ms, 10s, 5m or 2h. Lists may be repeated; in the environment they are separated by commas.
The first SIGINT or SIGTERM drains what is under way, the second one ends the process at once.

Examples:
  roundhouse gateway --kubeconfig ~/.kube/config
  roundhouse gateway --kubeconfig clusters.yaml --listen 0.0.0.0:8443 \\
    --tls-cert-file tls.crt --tls-key-file tls.key --token-file users.csv`,
      )
      .action(async () => {
        await using gateway = await open(collectOptions(command, options), options);
        terminal.note(
          `Serving ${gateway.clusters.length} clusters at ${gateway.url}, admin at ${gateway.adminUrl}`,
        );
        if (!signal.aborted) await once(signal, 'abort');
      });
  },
};

/** What keeps a gateway from starting is something that it was given: a file, an address, an option. */
async function open(input: Record<string, unknown>, options: readonly SchemaOption[]): Promise<Gateway> {
  try {
    return await Gateway.open(parseGatewayOptions(input));
  } catch (error) {
    if (!isCatalogued(error)) throw error;
    throw new CommandError('configuration', nameFlags(error.message, options), { cause: error });
  }
}
