import { Command, InvalidArgumentError } from 'commander';

export interface DemoOptions {
  /** Of the gateway, on loopback. 0: any free one. */
  readonly port: number;
  /** Of its admin listener, on loopback. 0: any free one. */
  readonly adminPort: number;
  /** Where the kubeconfigs are written. */
  readonly folder: string;
}

export const defaultAdminPort = 7480;

/** Reads the command line; prints help or the mistake and throws commander's error otherwise. */
export function parseDemoOptions(args: readonly string[]): DemoOptions {
  return new Command('npm start --')
    .description('Two simulated clusters, alpha and beta, with the gateway in front of them.')
    .option('--port <number>', 'port of the gateway', parsePort, 7443)
    .option('--admin-port <number>', 'port of the admin listener', parsePort, defaultAdminPort)
    .option('--folder <path>', 'where the kubeconfigs are written', '.roundhouse')
    .helpOption('-h, --help', 'show help')
    .exitOverride()
    .parse(args, { from: 'user' })
    .opts<DemoOptions>();
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) throw new InvalidArgumentError('It is a number from 0 to 65535.');
  return port;
}
