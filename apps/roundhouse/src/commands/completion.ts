import { Argument, type Command } from 'commander';
import { bashCompletion } from '../completion/bash.ts';
import { describeTree, type CompletionTree } from '../completion/tree.ts';
import { fishCompletion } from '../completion/fish.ts';
import { zshCompletion } from '../completion/zsh.ts';
import type { Context } from '../context.ts';
import type { CommandModule } from './command-module.ts';

const shells = {
  bash: bashCompletion,
  zsh: zshCompletion,
  fish: fishCompletion,
} satisfies Record<string, (tree: CompletionTree) => string>;

export const completionCommand: CommandModule = {
  define(command: Command, { terminal }: Context): void {
    command
      .addArgument(new Argument('<shell>').choices(Object.keys(shells)))
      .addHelpText(
        'after',
        `
Examples:
  source <(roundhouse completion bash)
  roundhouse completion zsh > "\${fpath[1]}/_roundhouse"
  roundhouse completion fish > ~/.config/fish/completions/roundhouse.fish`,
      )
      .action((shell: keyof typeof shells) => {
        terminal.write(shells[shell](describeTree(command.parent ?? command)));
      });
  },
};
