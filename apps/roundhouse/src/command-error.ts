import { exitCodes, type ExitReason } from './exit-codes.ts';

/** A failure that a person can do something about: printed as one line on stderr, without a stack. */
export class CommandError extends Error {
  readonly reason: ExitReason;

  constructor(reason: ExitReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandError';
    this.reason = reason;
  }

  get exitCode(): number {
    return exitCodes[this.reason];
  }
}

/** A question was answered with no: the answer has been printed, and only the exit code says it again. */
export class AnswerIsNo extends Error {
  constructor() {
    super('no');
    this.name = 'AnswerIsNo';
  }
}
