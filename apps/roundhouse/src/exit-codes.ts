// What the exit code of every subcommand means; `roundhouse help exit-codes` prints it. The codes are those of all programs.

import { exitCodes } from '@roundhouse/process/exit-codes';

export { exitCodes };
export type ExitReason = keyof typeof exitCodes;

export const exitCodeMeanings: Readonly<Record<ExitReason, string>> = {
  ok: 'done, and nothing found',
  finding: 'it ran and failed, or it found what it looked for (a leak, a difference)',
  usage: 'unknown command or flag, or a value that cannot be',
  configuration: 'a file, an address or a credential that was named cannot be used',
  unreachable: 'no connection to the gateway',
  partial: 'done in part; what is missing is on stderr',
  timeLimit: 'a time limit was reached',
  interrupted: 'ended by ctrl-C (SIGINT)',
  terminated: 'ended by SIGTERM before it could stop in order',
};
