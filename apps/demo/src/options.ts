import { Command, InvalidArgumentError } from 'commander';

export interface DemoOptions {
  /** Of the gateway, on loopback. 0: any free one. */
  readonly port: number;
  /** Of its admin listener, on loopback. 0: any free one. */
  readonly adminPort: number;
  /** Where the kubeconfigs are written. */
  readonly folder: string;
  /** How long sessions of a cluster go on when its certificate is replaced. */
  readonly sessionDrainSeconds: number;
}

export const defaultAdminPort = 7480;

/** Reads the command line; prints help or the mistake and throws commander's error otherwise. */
export function parseDemoOptions(args: readonly string[]): DemoOptions {
  return new Command('npm start --')
    .description('Two simulated clusters, alpha and beta, with the gateway in front of them.')
    .option('--port <number>', 'port of the gateway', parsePort, 7443)
    .option('--admin-port <number>', 'port of the admin listener', parsePort, defaultAdminPort)
    .option('--folder <path>', 'where the kubeconfigs are written', '.roundhouse')
    .option(
      '--session-drain-seconds <number>',
      "how long shells go on when their cluster's certificate is replaced",
      parseSeconds,
      60,
    )
    .helpOption('-h, --help', 'show help')
    .exitOverride()
    .parse(args, { from: 'user' })
    .opts<DemoOptions>();
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > 86_400) {
    throw new InvalidArgumentError('It is a number from 1 to 86400.');
  }
  return seconds;
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('It is a number from 0 to 65535.');
  return port;
}
