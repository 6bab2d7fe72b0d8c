import type { Command } from 'commander';
import { CommandError } from '../command-error.ts';
import type { Context } from '../context.ts';
import type { CommandModule } from './command-module.ts';

const retries = {
  never: 'never: the answer would be the same',
  safe: 'safe: nothing was executed',
  after: 'later: a limit was reached',
} as const;

export const explainCommand: CommandModule = {
  define(command: Command, { terminal }: Context): void {
    command
      .argument('<code>', 'an error code, for example ERR_RH_DIAL_FAILED')
      .option('-o, --output <format>', 'how to print: text or json', 'text')
      .action(async (given: string, { output }: { output: string }) => {
        const { errorCatalogue } = await import('../error-catalogue.ts');
        const code = given.toUpperCase();
        const entry = errorCatalogue.get(code);
        if (entry === undefined) throw unknownCode(given, [...errorCatalogue.keys()]);
        if (output === 'json') {
          terminal.write(`${JSON.stringify({ code, ...entry }, null, 2)}\n`);
          return;
        }
        const facts = [`Try again:    ${retries[entry.retry]}`, `HTTP status:  ${entry.httpStatus}`];
        terminal.write(`${code}\n\n${entry.summary}\n${entry.remedy}\n\n${facts.join('\n')}\n`);
      });
  },
};

function unknownCode(given: string, codes: readonly string[]): CommandError {
  const wanted = new Set(given.toUpperCase().split('_'));
  const score = (code: string): number => code.split('_').filter((word) => wanted.has(word)).length;
  const best = codes.toSorted((left, right) => score(right) - score(left))[0];
  const hint = best === undefined || score(best) <= 2 ? 'docs/errors.md lists all' : `did you mean ${best}?`;
  return new CommandError('usage', `there is no error code "${given}"; ${hint}`);
}
