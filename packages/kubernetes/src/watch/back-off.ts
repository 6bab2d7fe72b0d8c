/** How long to wait after a failure: twice as long after each in a row, up to a limit, and never all at the same time. */

export interface BackOffOptions {
  readonly firstMs: number;
  readonly maxMs: number;
  /** From 0 to below 1. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

export class BackOff {
  readonly #options: BackOffOptions;
  /** In a row. */
  #failures = 0;

  constructor(options: BackOffOptions) {
    this.#options = options;
  }

  get failures(): number {
    return this.#failures;
  }

  /** After one more failure: between half and all of what it could be. */
  nextMs(): number {
    const { firstMs, maxMs, random = Math.random } = this.#options;
    const fullMs = Math.min(maxMs, firstMs * 2 ** Math.min(this.#failures, 30));
    this.#failures += 1;
    return fullMs * (0.5 + 0.5 * random());
  }

  /** It works again. */
  reset(): void {
    this.#failures = 0;
  }
}
