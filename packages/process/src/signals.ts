/**
 * SIGTERM and SIGINT: the first one asks for an orderly end, the second one ends the process at once. Owned: after
 * disposal the process reacts to signals as if this had never been there.
 */

import { exitCodes } from './exit-codes.ts';

const codes = { SIGTERM: exitCodes.terminated, SIGINT: exitCodes.interrupted } as const;

export type StopSignal = keyof typeof codes;

export interface StopSignalsOptions {
  /** Called on the first signal, after `signal` was aborted. */
  readonly onStop?: ((name: StopSignal) => void) | undefined;
  /** Called on the second signal, just before the process ends; for one last line. */
  readonly onForce?: ((name: StopSignal) => void) | undefined;
  /** For tests; default: the process itself. */
  readonly process?: Pick<NodeJS.Process, 'on' | 'off'> & { exit(code: number): void };
  /** Milliseconds on any scale. For tests. */
  readonly now?: () => number;
}

/**
 * One press of ctrl-C may arrive twice: from the terminal, which signals the whole process group, and from npm, which hands
 * on what it gets. Nobody presses twice in so short a time.
 */
const samePressMs = 250;

/** The reason of `StopSignals.signal`. */
export class StoppedBySignal extends Error {
  readonly signalName: StopSignal;

  constructor(signalName: StopSignal) {
    super(`stopped by ${signalName}`);
    this.name = 'StoppedBySignal';
    this.signalName = signalName;
  }
}

export class StopSignals implements Disposable {
  readonly #process: NonNullable<StopSignalsOptions['process']>;
  readonly #options: StopSignalsOptions;
  readonly #now: () => number;
  readonly #controller = new AbortController();
  #stoppedAt = 0;

  private constructor(options: StopSignalsOptions) {
    this.#options = options;
    this.#process = options.process ?? process;
    this.#now = options.now ?? (() => performance.now());
  }

  static open(options: StopSignalsOptions = {}): StopSignals {
    const signals = new StopSignals(options);
    for (const name of stopSignals) {
      signals.#process.on(name, signals.#onSignal);
    }
    return signals;
  }

  /** Aborted on the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  [Symbol.dispose](): void {
    for (const name of stopSignals) {
      this.#process.off(name, this.#onSignal);
    }
  }

  readonly #onSignal = (name: NodeJS.Signals): void => {
    if (name !== 'SIGTERM' && name !== 'SIGINT') {
      return;
    }
    const { aborted, reason } = this.#controller.signal;
    if (aborted) {
      const first: unknown = reason;
      const isRepeat = name === 'SIGINT' && first instanceof StoppedBySignal && first.signalName === name;
      if (isRepeat && this.#now() - this.#stoppedAt < samePressMs) {
        return;
      }
      this.#options.onForce?.(name);
      // The person or the supervisor has asked twice: what is still open is left to the operating system.
      this.#process.exit(codes[name]);
      return;
    }
    this.#stoppedAt = this.#now();
    this.#controller.abort(new StoppedBySignal(name));
    this.#options.onStop?.(name);
  };
}

const stopSignals = ['SIGTERM', 'SIGINT'] as const;
