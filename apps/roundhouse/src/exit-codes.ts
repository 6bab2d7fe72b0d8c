// What the exit code of every subcommand means. `roundhouse help exit-codes` prints this table. The numbers are those of
// @roundhouse/process, which is not imported here because it would load all that a program needs; a test compares them.

export const exitCodes = {
  ok: { code: 0, meaning: 'done, and nothing found' },
  finding: { code: 1, meaning: 'it ran and failed, or it found what it looked for (a leak, a difference)' },
  usage: { code: 2, meaning: 'unknown command or flag, or a value that cannot be' },
  configuration: { code: 3, meaning: 'a file, an address or a credential that was named cannot be used' },
  unreachable: { code: 4, meaning: 'no connection to the gateway' },
  partial: { code: 5, meaning: 'done in part; what is missing is on stderr' },
  timeLimit: { code: 124, meaning: 'a time limit was reached' },
  interrupted: { code: 130, meaning: 'ended by ctrl-C (SIGINT)' },
  terminated: { code: 143, meaning: 'ended by SIGTERM before it could stop in order' },
} as const satisfies Record<string, { code: number; meaning: string }>;

export type ExitReason = keyof typeof exitCodes;
