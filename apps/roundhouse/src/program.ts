// The command line as a tree, built from commands/command-list.ts.

import { Command, Option } from 'commander';
import { commandList } from './commands/command-list.ts';
import type { Context } from './context.ts';
import { exitCodeMeanings, exitCodes } from './exit-codes.ts';
import { formatTable } from './output/table.ts';
import type { ColourMode } from './output/terminal.ts';
import { readVersion } from './version.ts';

/** `loaded`: names of the subcommands whose options are wanted; the others have a name and a summary only. */
export async function createProgram(context: Context, loaded: (name: string) => boolean): Promise<Command> {
  const { terminal } = context;
  const program = new Command('roundhouse')
    .description('Keeps the connections of control-plane processes without leaking one.')
    .version(readVersion(), '-V, --version', 'print the version')
    .addOption(
      new Option('--color <when>', 'colour the output').choices(['auto', 'always', 'never']).default('auto'),
    )
    .helpOption('-h, --help', 'show help')
    .helpCommand(false)
    .showHelpAfterError('(--help shows what there is)')
    .configureOutput({
      writeOut: (text) => terminal.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      getOutHasColors: () => false,
      getErrHasColors: () => false,
      getOutHelpWidth: () => helpWidth,
      getErrHelpWidth: () => helpWidth,
    })
    .configureHelp({
      showGlobalOptions: true,
      sortOptions: false,
      subcommandTerm: (command) => command.name(),
    })
    .exitOverride();
  program.hook('preAction', () => {
    terminal.colour = program.opts<{ color: ColourMode }>().color;
  });
  program.addHelpText(
    'after',
    '\nroundhouse help COMMAND shows a command, roundhouse help exit-codes the exit codes.',
  );
  for (const entry of commandList) {
    const command = program
      .command(entry.name)
      .summary(entry.summary)
      .description(capitalise(entry.summary))
      .helpGroup(entry.group);
    if (loaded(entry.name)) (await entry.load()).define(command, context);
  }
  defineHelp(program, context);
  return program;
}

/** Fixed, so that the help is the same text wherever it is printed. */
const helpWidth = 110;

function defineHelp(program: Command, { terminal }: Context): void {
  program
    .command('help [topic]')
    .summary('show the help of a command, or the exit codes')
    .description('Show the help of a command, or the exit codes with the topic exit-codes.')
    .helpGroup('This tool:')
    .action((topic: string | undefined) => {
      if (topic === 'exit-codes') {
        terminal.write(formatExitCodes());
        return;
      }
      const command =
        topic === undefined ? program : program.commands.find((candidate) => candidate.name() === topic);
      if (command === undefined)
        program.error(`error: no help for '${topic}'`, { code: 'roundhouse.unknownTopic' });
      else command.outputHelp();
    });
}

function formatExitCodes(): string {
  return formatTable(
    [
      { title: 'CODE', value: ([, code]) => String(code) },
      { title: 'MEANING', value: ([reason]) => exitCodeMeanings[reason] },
    ],
    entriesOf(exitCodes),
  );
}

/** Object.entries, which forgets the names of the keys. */
function entriesOf<Key extends string, Value>(record: Readonly<Record<Key, Value>>): [Key, Value][] {
  const entries: [Key, Value][] = [];
  for (const key in record) entries.push([key, record[key]]);
  return entries;
}

function capitalise(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
