// `roundhouse gateway`: its flags are the gateway's options, its end is a signal.

import { once } from 'node:events';
import type { Command } from 'commander';
import { Gateway, checkGateway, parseGatewayOptions } from '@roundhouse/gateway';
import type { Context } from '../context.ts';
import { CommandError } from '../command-error.ts';
import { isCatalogued } from '../catalogued-error.ts';
import { describeGatewayOptions } from '../configuration/gateway-options.ts';
import { namePlaces, readLayers } from '../configuration/layers.ts';
import type { Terminal } from '../output/terminal.ts';
import type { CommandModule } from './command-module.ts';
import { configOption } from './config.ts';

export const gatewayCommand: CommandModule = {
  define(command: Command, { terminal, signal, env }: Context): void {
    const options = describeGatewayOptions();
    command
      .addOption(configOption())
      .option('--check', 'read everything that is named, say what is wrong with it, and end');
    for (const { option } of options) command.addOption(option);
    command
      .addHelpText(
        'after',
        `
Durations are written 500ms, 10s, 5m or 2h. Lists may be repeated; in the environment they are separated by commas.
SIGHUP reopens the audit log. The first SIGINT or SIGTERM drains what is under way, the second one ends the process at once.

Examples:
  roundhouse gateway --kubeconfig ~/.kube/config
  roundhouse gateway --config gateway.yaml --check
  roundhouse gateway --kubeconfig clusters.yaml --listen 0.0.0.0:8443 \\
    --tls-cert-file tls.crt --tls-key-file tls.key --token-file users.csv`,
      )
      .action(async ({ config, check }: { config?: string; check?: boolean }) => {
        const layers = await readLayers(command, options, config);
        const blamed = async <T>(work: () => Promise<T>): Promise<T> => {
          try {
            return await work();
          } catch (error) {
            // What keeps a gateway from starting is something that it was given: a file, an address, an option.
            if (!isCatalogued(error)) throw error;
            throw new CommandError('configuration', namePlaces(error.message, options, layers), {
              cause: error,
            });
          }
        };
        if (check === true) {
          await blamed(() => checkAll(layers.input, env, terminal));
          return;
        }
        await using gateway = await blamed(() =>
          Gateway.open(parseGatewayOptions(layers.input), { environment: env }),
        );
        using _ = onHangup(gateway);
        terminal.note(
          `Serving ${gateway.clusters.length} clusters at ${gateway.url}, admin at ${gateway.adminUrl}`,
        );
        if (!signal.aborted) await once(signal, 'abort');
      });
  },
};

/** As rotation programs have it. Without an audit log the signal ends the process, as that of every program. */
function onHangup(gateway: Gateway): Disposable {
  const reopen = (): void => gateway.reopenLogs();
  if (gateway.hasAuditLog) process.on('SIGHUP', reopen);
  return { [Symbol.dispose]: () => void process.off('SIGHUP', reopen) };
}

async function checkAll(
  input: Readonly<Record<string, unknown>>,
  environment: Context['env'],
  terminal: Terminal,
): Promise<void> {
  const { clusters, refused } = await checkGateway(parseGatewayOptions(input), { environment });
  for (const { name, reason } of refused) terminal.note(`${name} would not be served: ${reason}`);
  terminal.note(`The configuration is good; ${clusters.length} clusters would be served.`);
}
