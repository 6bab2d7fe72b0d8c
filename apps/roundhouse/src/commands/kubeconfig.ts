import { access, readFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join, resolve } from 'node:path';
import { Option, type Command } from 'commander';
import { field, rowsOf } from '../admin-answer.ts';
import { CommandError } from '../command-error.ts';
import type { Context } from '../context.ts';
import { gatewayEntries, type KubeconfigEntries, type ServedCluster } from '../kubeconfig/gateway-entries.ts';
import { mergeKubeconfig, newKubeconfig } from '../kubeconfig/kubeconfig-document.ts';
import { writePrivateFile } from '../kubeconfig/private-file.ts';
import { addAdminOptions, readAdmin, type AdminOptions } from './admin-options.ts';
import type { CommandModule } from './command-module.ts';

interface Flags extends AdminOptions {
  readonly server?: string;
  readonly cluster?: readonly string[];
  readonly prefix: string;
  readonly certificateAuthority?: string;
  readonly tokenFile?: string;
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly output?: string;
  readonly merge?: boolean;
  readonly force?: boolean;
  readonly setCurrent?: string;
}

export const kubeconfigCommand: CommandModule = {
  define(command: Command, context: Context): void {
    command
      .addOption(
        new Option(
          '--server <url>',
          'where clients reach the gateway; without it, where the gateway says that it listens',
        ).env('ROUNDHOUSE_SERVER'),
      )
      .option('--cluster <name...>', 'these clusters only; without it, all that the running gateway has')
      .option('--prefix <text>', 'put before the names of clusters and contexts', '')
      .option(
        '--certificate-authority <file>',
        "the CA of the gateway's certificate; referred to, not copied",
      )
      .option('--token-file <file>', 'a bearer token for the gateway; referred to, not copied')
      .option('--client-certificate <file>', 'a client certificate for the gateway; referred to, not copied')
      .option('--client-key <file>', 'the key of the client certificate')
      .option('--output <file>', 'write to a file (mode 0600) instead of to stdout')
      .option('--merge', 'add to the file: --output, else the first of KUBECONFIG, else ~/.kube/config')
      .option('--force', 'replace the file named by --output')
      .option('--set-current <context>', 'make this the current context (a new file takes the first)')
      .addHelpText(
        'after',
        `
Examples:
  roundhouse kubeconfig > kubeconfig                          all clusters of the gateway on this machine
  roundhouse kubeconfig --cluster alpha beta                  two of them; with --server the gateway is not asked
  roundhouse kubeconfig --merge --prefix rh-                  into your own kubeconfig, as rh-alpha, rh-beta, ...
  roundhouse kubeconfig --server https://gw.example.com --certificate-authority ca.pem --token-file token`,
      );
    addAdminOptions(command).action((flags: Flags) => writeKubeconfig(flags, context));
  },
};

async function writeKubeconfig(flags: Flags, { terminal, signal, env }: Context): Promise<void> {
  if ((flags.clientCertificate === undefined) !== (flags.clientKey === undefined)) {
    throw new CommandError('usage', '--client-certificate and --client-key belong together');
  }
  if (flags.force === true && flags.output === undefined)
    throw new CommandError('usage', '--force needs --output');
  const { server, clusters } = await findGateway(flags, signal);
  const entries = gatewayEntries({
    server,
    clusters,
    prefix: flags.prefix,
    certificateAuthority: await existing('--certificate-authority', flags.certificateAuthority),
    tokenFile: await existing('--token-file', flags.tokenFile),
    clientCertificate: await existing('--client-certificate', flags.clientCertificate),
    clientKey: await existing('--client-key', flags.clientKey),
  });
  checkCurrent(flags.setCurrent, entries);

  const target = flags.output ?? (flags.merge === true ? ownKubeconfig(env) : undefined);
  if (target === undefined) {
    terminal.write(newKubeconfig(entries, flags.setCurrent ?? entries.contexts[0]?.name));
    return;
  }
  await writePrivateFile(target, await contentFor(target, entries, flags));
  terminal.note(`Wrote ${entries.contexts.map(({ name }) => name).join(', ')} to ${target}`);
}

async function contentFor(
  target: string,
  entries: KubeconfigEntries,
  { merge, force, setCurrent }: Flags,
): Promise<string> {
  const present = force === true && merge !== true ? undefined : await readExisting(target);
  if (present === undefined || present.trim() === '') {
    return newKubeconfig(entries, setCurrent ?? entries.contexts[0]?.name);
  }
  if (!merge)
    throw new CommandError('configuration', `${target} exists; --merge adds to it, --force replaces it`);
  return mergeKubeconfig(present, entries, setCurrent, target);
}

async function readExisting(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw new CommandError('configuration', `cannot read ${path}`, { cause });
  }
}

/** From the flags alone, or from the running gateway as far as they do not say. */
async function findGateway(
  flags: Flags,
  signal: AbortSignal,
): Promise<{ server: URL; clusters: readonly ServedCluster[] }> {
  const given = flags.server === undefined ? undefined : parseServer(flags.server);
  if (given !== undefined && flags.cluster !== undefined) {
    const { pathNameOf } = await import('@roundhouse/gateway');
    return {
      server: given,
      clusters: flags.cluster.map((name) => ({ name, path: `/clusters/${pathNameOf(name)}` })),
    };
  }
  const answer = await readAdmin(flags, '/debug/clusters', signal);
  const served = rowsOf(answer, 'clusters').map((row) => ({
    name: field(row, 'name'),
    path: field(row, 'path'),
  }));
  const clusters = flags.cluster?.map((name) => pick(name, served)) ?? served;
  if (clusters.length === 0) throw new CommandError('finding', 'the gateway has no clusters');
  return { server: given ?? parseServer(listenerOf(answer)), clusters };
}

function pick(name: string, served: readonly ServedCluster[]): ServedCluster {
  const found = served.find((cluster) => cluster.name === name);
  if (found !== undefined) return found;
  throw new CommandError(
    'usage',
    `the gateway has no cluster "${name}"; it has ${served.map((each) => each.name).join(', ')}`,
  );
}

function listenerOf(answer: unknown): string {
  const url = typeof answer === 'object' && answer !== null && 'url' in answer ? answer.url : undefined;
  if (typeof url === 'string') return url;
  throw new CommandError('usage', 'the gateway does not say where it listens; say it with --server');
}

function parseServer(text: string): URL {
  const server = URL.parse(text);
  if (server !== null && ['http:', 'https:'].includes(server.protocol) && server.pathname === '/')
    return server;
  throw new CommandError(
    'usage',
    `--server "${text}" is not an http:// or https:// URL of host and port only`,
  );
}

/** An absolute path, for a kubeconfig that may be read from any folder. */
async function existing(flag: string, path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    await access(path);
  } catch (cause) {
    throw new CommandError('configuration', `${flag} ${path} cannot be read`, { cause });
  }
  return resolve(path);
}

function checkCurrent(wanted: string | undefined, { contexts }: KubeconfigEntries): void {
  if (wanted === undefined || contexts.some(({ name }) => name === wanted)) return;
  const names = contexts.map(({ name }) => name).join(', ');
  throw new CommandError(
    'usage',
    `--set-current ${wanted} is none of the contexts that are written: ${names}`,
  );
}

/** As kubectl does it: the first file of KUBECONFIG, else the one in the home folder. */
function ownKubeconfig(env: Context['env']): string {
  const first = env['KUBECONFIG']?.split(delimiter).find((path) => path !== '');
  return first ?? join(homedir(), '.kube', 'config');
}
