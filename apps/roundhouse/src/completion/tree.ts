// The command tree as the completion scripts need it: words, and which flags take a value of which kind.

import type { Command } from 'commander';

export interface CompletionFlag {
  /** `-o` and `--output`, as far as there are both. */
  readonly names: readonly string[];
  readonly description: string;
  readonly value: 'none' | 'any' | 'file' | readonly string[];
}

export interface CompletionCommand {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly CompletionFlag[];
  /** Words that may follow the name. */
  readonly words: readonly string[];
}

export interface CompletionTree {
  readonly program: string;
  readonly flags: readonly CompletionFlag[];
  readonly commands: readonly CompletionCommand[];
}

export function describeTree(program: Command): CompletionTree {
  const names = program.commands.map((command) => command.name());
  return {
    program: program.name(),
    flags: describeFlags(program),
    commands: program.commands.map((command) => ({
      name: command.name(),
      description: command.summary(),
      flags: [
        ...describeFlags(command),
        ...command.commands.flatMap(describeFlags),
        ...describeFlags(program).filter(({ names: [name] }) => name === '--color'),
      ],
      words:
        command.name() === 'help'
          ? [...names, 'exit-codes']
          : [
              ...command.commands.map((nested) => nested.name()),
              ...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
            ],
    })),
  };
}

function describeFlags(command: Command): CompletionFlag[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .map((option) => ({
      names: [option.short, option.long].filter((name) => name !== undefined && name !== null),
      description: option.description,
      value:
        option.isBoolean() || (!option.required && !option.optional)
          ? 'none'
          : valueOf(option.argChoices, option.flags),
    }));
}

function valueOf(choices: readonly string[] | undefined, flags: string): CompletionFlag['value'] {
  if (choices !== undefined) return choices;
  return /<(?:file|folder|path)/.test(flags) ? 'file' : 'any';
}
