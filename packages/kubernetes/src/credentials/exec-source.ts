/**
 * The credential that an exec plugin gives. It is run when somebody needs a credential and there is none, when one in use comes to
 * its end, and when a cluster has refused one; once at a time, however many wait, and after a failure not again at once. A
 * credential that nobody uses is left to end.
 */

import type { Clock, Timer } from '@roundhouse/transport';
import { KubernetesError } from '../errors.ts';
import { findCommand } from './command-path.ts';
import type { CredentialOutcome, CredentialSource } from './credential-source.ts';
import { parseExecCredential } from './exec-credential.ts';
import type { ExecPlugin } from './exec-plugin.ts';
import { PluginFailure, runPlugin } from './plugin-process.ts';
import type { PresentCredential } from './present-credential.ts';
import type { RunSlots } from './run-slots.ts';

export interface ExecSourceOptions {
  readonly plugin: ExecPlugin;
  /** What plugins inherit. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  readonly showStderr: boolean;
  readonly slots: RunSlots;
  readonly clock: Clock;
  /** From 0 to below 1. */
  readonly random: () => number;
  readonly onOutcome: (outcome: CredentialOutcome) => void;
}

/** After the first failure in a row; twice as long after each other one, up to the limit. 6 runs in the first minute. */
const firstBackOffMs = 1_000;
const maxBackOffMs = 60_000;

/** Whoever comes after a failure waits no longer than that for the next attempt. */
const impatientMs = 1_000;

/** A credential is used for so long whatever it says of its end: clocks differ, and it is the cluster that judges. */
const minUseMs = 5_000;

/** The shortest time between two runs that a refused credential has caused. */
const forcedGapMs = 10_000;

/** Who waits for a credential while there is none. What comes then is refused. */
const maxWaiting = 1_000;

export class ExecSource implements CredentialSource {
  readonly #options: ExecSourceOptions;
  readonly #end = new AbortController();
  readonly #kill = new AbortController();
  #present: PresentCredential | undefined;
  #obtainedAt = 0;
  /** From then on the next one is fetched, if somebody asks. */
  #refreshAt = Number.POSITIVE_INFINITY;
  /** Whether somebody has asked for the present one. */
  #used = false;
  #error: KubernetesError | undefined;
  /** In a row. */
  #failures = 0;
  #restsUntil = 0;
  #forcedAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #waiting = 0;
  #refresh: Timer | undefined;

  constructor(options: ExecSourceOptions) {
    this.#options = options;
  }

  get error(): KubernetesError | undefined {
    return this.#error;
  }

  get expiresAt(): Date | undefined {
    return this.#present?.expiresAt;
  }

  present(): PresentCredential | undefined {
    const now = this.#options.clock.now();
    if (now >= this.#refreshAt && now >= this.#restsUntil) {
      void this.#run();
    }
    if (this.#present === undefined || now >= this.#endOf(this.#present)) {
      return undefined;
    }
    this.#used = true;
    return this.#present;
  }

  async get(): Promise<PresentCredential> {
    const known = this.present();
    if (known !== undefined) {
      return known;
    }
    const { clock } = this.#options;
    if (this.#error !== undefined && this.#running === undefined && clock.now() < this.#restsUntil) {
      throw this.#error;
    }
    if (this.#waiting >= maxWaiting) {
      throw this.#error ?? this.#failure('is still running, and too many wait for it');
    }
    this.#waiting += 1;
    try {
      await this.#within(this.#failures > 0 ? impatientMs : this.#longestWaitMs, this.#run());
    } finally {
      this.#waiting -= 1;
    }
    const obtained = this.present();
    if (obtained === undefined) {
      throw this.#error ?? this.#failure('is still running');
    }
    return obtained;
  }

  async renew(refused: PresentCredential): Promise<void> {
    const now = this.#options.clock.now();
    if (this.#running === undefined) {
      const another = this.#present !== undefined && !this.#present.equals(refused);
      if (another || now < this.#restsUntil || now < this.#forcedAt + forcedGapMs) {
        return;
      }
    }
    this.#forcedAt = now;
    await this.#within(this.#longestWaitMs, this.#run());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort(this.#failure('is not wanted any more'));
    this.#refresh?.cancel();
    await this.#running;
  }

  /** For the end of this process, when nothing can be waited for: what runs is gone when this returns. */
  kill(): void {
    this.#kill.abort();
  }

  /** Its own limit, and as long again for the runs of others before it. */
  get #longestWaitMs(): number {
    return 2 * this.#options.timeoutMs;
  }

  /** Joins the run that there is. Never rejects. */
  #run(): Promise<void> {
    this.#running ??= this.#attempt().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #attempt(): Promise<void> {
    try {
      const credential = await this.#obtain();
      if (!this.#end.signal.aborted) {
        this.#take(credential);
      }
    } catch (error) {
      const failure = error instanceof KubernetesError ? error : this.#failure('failed', error);
      this.#failures += 1;
      this.#restsUntil =
        this.#options.clock.now() + Math.min(maxBackOffMs, firstBackOffMs * 2 ** (this.#failures - 1));
      this.#error = failure;
      if (!this.#end.signal.aborted) {
        this.#options.onOutcome({ result: 'failed', error: failure });
      }
    }
  }

  async #obtain(): Promise<PresentCredential> {
    const { plugin, slots, environment, timeoutMs, showStderr, clock } = this.#options;
    using _ = await slots.take(this.#end.signal);
    const path = await this.#allowedPath();
    try {
      const output = await runPlugin({
        path,
        args: plugin.args,
        env: this.#environment(environment),
        timeoutMs,
        showStderr,
        clock,
        signal: this.#end.signal,
        killSignal: this.#kill.signal,
      });
      return parseExecCredential(output, plugin.apiVersion);
    } catch (error) {
      throw error instanceof PluginFailure ? this.#failure(error.message) : error;
    }
  }

  /** What is compared with the list is what is run. */
  async #allowedPath(): Promise<string> {
    const {
      plugin: { command, allowlist, installHint },
      environment,
    } = this.#options;
    const path = await findCommand(command, environment['PATH']);
    if (path === undefined) {
      throw this.#failure(
        `is not installed where it is looked for${installHint === undefined ? '' : `; its author says: ${installHint}`}`,
      );
    }
    for (const entry of allowlist ?? []) {
      if ((await findCommand(entry, environment['PATH'])) === path) {
        return path;
      }
    }
    if (allowlist !== undefined) {
      throw new KubernetesError(
        'ERR_RH_EXEC_PLUGIN_FORBIDDEN',
        `the credential plugin ${command} is not among those that may be run`,
      );
    }
    return path;
  }

  #environment(inherited: ExecSourceOptions['environment']): Record<string, string> {
    const env: Record<string, string> = {};
    for (const [name, value] of Object.entries(inherited)) {
      if (value !== undefined) {
        env[name] = value;
      }
    }
    for (const { name, value } of this.#options.plugin.env) {
      env[name] = value;
    }
    env['KUBERNETES_EXEC_INFO'] = this.#options.plugin.info;
    return env;
  }

  #take(credential: PresentCredential): void {
    const { clock, random, onOutcome } = this.#options;
    const changed = this.#present === undefined || !this.#present.equals(credential);
    const now = clock.now();
    this.#present = credential;
    this.#obtainedAt = now;
    this.#used = false;
    this.#error = undefined;
    this.#failures = 0;
    this.#restsUntil = 0;
    this.#refresh?.cancel();
    this.#refresh = undefined;
    this.#refreshAt = Number.POSITIVE_INFINITY;
    if (credential.expiresAt !== undefined) {
      // Spread, so that those that began together do not end together.
      const lifeMs = this.#endOf(credential) - now;
      this.#refreshAt = now + lifeMs * (0.75 + 0.1 * random());
      this.#refresh = clock.setTimeout(() => this.#refreshIfUsed(), this.#refreshAt - now);
    }
    onOutcome({ result: changed ? 'changed' : 'unchanged', credential });
  }

  #refreshIfUsed(): void {
    if (this.#used) {
      void this.#run();
    }
  }

  #endOf({ expiresAt }: PresentCredential): number {
    return expiresAt === undefined
      ? Number.POSITIVE_INFINITY
      : Math.max(expiresAt.getTime(), this.#obtainedAt + minUseMs);
  }

  async #within(ms: number, run: Promise<void>): Promise<void> {
    const late = Promise.withResolvers<void>();
    const timer = this.#options.clock.setTimeout(() => late.resolve(), ms);
    try {
      await Promise.race([run, late.promise]);
    } finally {
      timer.cancel();
    }
  }

  #failure(what: string, cause?: unknown): KubernetesError {
    return new KubernetesError(
      'ERR_RH_EXEC_PLUGIN_FAILED',
      `the credential plugin ${this.#options.plugin.command} ${what}`,
      { cause },
    );
  }
}
