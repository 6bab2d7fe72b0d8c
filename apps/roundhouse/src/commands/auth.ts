import { readFile } from 'node:fs/promises';
import { Command, Option } from 'commander';
import type { AccessAnswer, RuleSummary } from '@roundhouse/gateway';
import { field, rowsOf, type Row } from '../admin-answer.ts';
import { AnswerIsNo, CommandError } from '../command-error.ts';
import type { Context } from '../context.ts';
import { formatTable } from '../output/table.ts';
import type { Terminal } from '../output/terminal.ts';
import { addAdminOptions, readAdmin, type AdminOptions } from './admin-options.ts';
import type { CommandModule } from './command-module.ts';

interface Flags extends AdminOptions {
  readonly cluster?: string;
  readonly as?: string;
  readonly asGroup?: readonly string[];
  readonly namespace?: string;
  readonly subresource?: string;
  readonly authorization?: string;
  readonly config?: string;
  readonly list?: boolean;
  readonly output: 'text' | 'json';
}

type Pair = [string, string];
type Pairs = Pair[];

export const authCommand: CommandModule = {
  define(command: Command, context: Context): void {
    const canI = command
      .command('can-i [verb] [resource] [name]')
      .summary('say whether a user may do something, and by which rule')
      .description('Say whether a user may do something on a cluster, and by which rule.')
      .option('--cluster <name>', 'the cluster that is meant')
      .option('--as <user>', 'the user that is meant')
      .option('--as-group <group...>', 'the groups that the user is in')
      .option('-n, --namespace <name>', 'left out: in none, or in all of them')
      .option('--subresource <name>', 'for example log, exec, scale')
      .option('--authorization <file>', 'ask this authorisation file, and not a running gateway')
      .option('--config <file>', 'ask the authorisation file that this configuration file names')
      .option('--list', 'list the rules that speak of the user')
      .addOption(
        new Option('-o, --output <format>', 'how to print').choices(['text', 'json']).default('text'),
      )
      .addHelpText(
        'after',
        `
RESOURCE is written pods, deployments.apps, pods/log, or as a path such as /version. Exit code 0: yes, 1: no.

Examples:
  roundhouse auth can-i list pods --cluster alpha --as jane --as-group dev -n web
  roundhouse auth can-i create pods/exec web-0 --cluster alpha --as jane -n web --authorization rules.yaml
  roundhouse auth can-i --list --as jane --as-group dev`,
      );
    addAdminOptions(canI).action(
      async (
        verb: string | undefined,
        resource: string | undefined,
        name: string | undefined,
        flags: Flags,
      ) => {
        const { as, asGroup = [] } = flags;
        if (as === undefined) throw new CommandError('usage', 'say who is meant with --as');
        const subject: Pairs = [['user', as], ...asGroup.map((group): Pair => ['group', group])];
        const cluster: Pairs = flags.cluster === undefined ? [] : [['cluster', flags.cluster]];
        if (flags.list === true) {
          const query = new URLSearchParams([...subject, ...cluster, ['list', '']]);
          await printRules(query, flags, context);
          return;
        }
        if (verb === undefined || resource === undefined)
          throw new CommandError('usage', 'say what is meant: VERB RESOURCE [NAME], or --list');
        if (flags.cluster === undefined) throw new CommandError('usage', 'say which cluster with --cluster');
        const what = describe(resource, name, flags);
        await printAnswer(
          new URLSearchParams([...subject, ...cluster, ['verb', verb], ...what]),
          flags,
          context,
        );
      },
    );
  },
};

/** `deployments.apps/scale`: resource, group behind the first dot, subresource behind the slash. */
function describe(given: string, name: string | undefined, { namespace, subresource }: Flags): Pairs {
  if (given.startsWith('/')) return [['path', given]];
  const [qualified = '', ...behind] = given.split('/');
  if (behind.length > 0 && subresource !== undefined)
    throw new CommandError('usage', `"${given}" names a subresource already`);
  const dot = qualified.indexOf('.');
  const plain = dot === -1 ? qualified : qualified.slice(0, dot);
  const below = subresource ?? behind.join('/');
  return [
    ['resource', below === '' ? plain : `${plain}/${below}`],
    ['apiGroup', dot === -1 ? '' : qualified.slice(dot + 1)],
    ['namespace', namespace ?? ''],
    ['name', name ?? ''],
  ];
}

async function printAnswer(
  query: URLSearchParams,
  flags: Flags,
  { terminal, signal }: Context,
): Promise<void> {
  const answer = await ask(query, flags, signal);
  if (typeof answer !== 'object' || answer === null || !('allowed' in answer))
    throw new CommandError(
      'finding',
      'the admin listener answered without a decision; is it a gateway of this version?',
    );
  const row: Row = { ...answer };
  if (flags.output === 'json') terminal.write(`${JSON.stringify(answer, null, 2)}\n`);
  else terminal.write(`${answer.allowed === true ? 'yes' : 'no'}: ${field(row, 'reason')}\n`);
  if (answer.allowed !== true) throw new AnswerIsNo();
}

async function printRules(
  query: URLSearchParams,
  flags: Flags,
  { terminal, signal }: Context,
): Promise<void> {
  const answer = await ask(query, flags, signal);
  const rows = rowsOf(answer, 'rules');
  if (flags.output === 'json') terminal.write(`${JSON.stringify(answer, null, 2)}\n`);
  else if (rows.length === 0) terminal.note('No rule speaks of the user.');
  else terminal.write(ruleTable(rows, terminal));
}

function ruleTable(rows: readonly Row[], terminal: Terminal): string {
  const text = (name: string) => (row: Row) => field(row, name);
  return formatTable(
    [
      { title: 'RULE', value: text('name') },
      {
        title: 'EFFECT',
        value: text('effect'),
        paint: (row, cell) => terminal.style(field(row, 'effect') === 'deny' ? 'red' : 'reset', cell),
      },
      { title: 'CLUSTERS', value: text('clusters') },
      { title: 'VERBS', value: text('verbs') },
      { title: 'RESOURCES', value: (row) => field(row, 'resources') || field(row, 'nonResourceURLs') },
      { title: 'API GROUPS', value: apiGroups },
      { title: 'NAMESPACES', value: text('namespaces') },
      { title: 'NAMES', value: text('resourceNames') },
    ],
    rows,
  );
}

/** A file, or the running gateway; the answer has the same form. */
async function ask(query: URLSearchParams, flags: Flags, signal: AbortSignal): Promise<unknown> {
  const file = flags.authorization ?? (flags.config === undefined ? undefined : await namedIn(flags.config));
  return file === undefined
    ? await readAdmin(flags, `/debug/authorization?${query.toString()}`, signal)
    : await askFile(file, query);
}

async function namedIn(configFile: string): Promise<string> {
  const [{ describeGatewayOptions }, { readLayers }] = await Promise.all([
    import('../configuration/gateway-options.ts'),
    import('../configuration/layers.ts'),
  ]);
  const options = describeGatewayOptions().filter(({ path }) => path.join('.') === 'authorizationFile');
  // A command that has none of the flags: what counts is the file.
  const { input } = await readLayers(new Command(), options, configFile);
  const { authorizationFile } = input;
  if (typeof authorizationFile === 'string') return authorizationFile;
  throw new CommandError('configuration', `the configuration file ${configFile} names no authorizationFile`);
}

async function askFile(
  path: string,
  query: URLSearchParams,
): Promise<AccessAnswer | { rules: RuleSummary[] }> {
  const { Policy, explainAccess, listAccess, readAccessQuestion } = await import('@roundhouse/gateway');
  try {
    const policy = Policy.parse(await readFile(path, 'utf8'));
    const question = readAccessQuestion(query);
    return query.has('list')
      ? { rules: listAccess(policy, question, query.get('cluster') ?? undefined) }
      : explainAccess(policy, question);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CommandError('configuration', `the authorisation file ${path}:\n${reason}`, { cause });
  }
}

/** The core group has no name, which a table cannot show. */
function apiGroups({ apiGroups: groups }: Row): string {
  return Array.isArray(groups) ? groups.map((group) => (group === '' ? '""' : String(group))).join(',') : '';
}
