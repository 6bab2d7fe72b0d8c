/** What the exit code of a program says. The command line prints the same table in `roundhouse help exit-codes`. */
export const exitCodes = {
  ok: 0,
  /** It ran and failed, or it found what it was to look for (a leak, a difference). */
  finding: 1,
  usage: 2,
  /** A file, an address or a credential that was named cannot be used. */
  configuration: 3,
  unreachable: 4,
  partial: 5,
  timeLimit: 124,
  interrupted: 130,
  terminated: 143,
} as const;
