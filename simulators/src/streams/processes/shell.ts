/** Stands in for a shell until commands are parsed: `sh -c "exit N"` alone. */
import { programNamed, type Program } from './program.ts';

export const shell: Program = async (context) => {
  const [, flag, script = ''] = context.args;
  if (flag !== '-c') return 127;
  const words = script.trim().split(/\s+/);
  if (words[0] === 'exit') return Number(words[1] ?? '0');
  const program = programNamed(context.programs, words[0] ?? '');
  return program === undefined ? 127 : program({ ...context, args: words });
};
