/** A failure that a person can mend: printed as one line, exit code 1. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}
