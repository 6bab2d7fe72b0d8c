/**
 * The exec plugins of a program, by content, as client-go has them: contexts that mean the same command with the same arguments,
 * environment and cluster information have one credential, and its plugin is run once for all of them. A plugin that nobody uses
 * any more is ended.
 */

import { createHash } from 'node:crypto';
import { systemClock } from '@roundhouse/transport';
import type { Clock } from '@roundhouse/transport';
import type { KubernetesError } from '../errors.ts';
import type { CredentialOutcome, CredentialSource } from './credential-source.ts';
import type { ExecPlugin } from './exec-plugin.ts';
import { ExecSource } from './exec-source.ts';
import type { PresentCredential } from './present-credential.ts';
import { RunSlots } from './run-slots.ts';

export interface ExecSourcesOptions {
  /** What plugins inherit, and where a command is looked for (PATH). */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Longest run of a plugin. */
  readonly timeoutMs: number;
  /** What plugins say on stderr goes to that of this process. Otherwise it goes nowhere: it may hold anything. */
  readonly showStderr: boolean;
  /** Plugins that run at a time; the others wait. */
  readonly maxRunning: number;
  readonly clock?: Clock | undefined;
  /** From 0 to below 1; spreads what would otherwise be obtained anew all at once. */
  readonly random?: (() => number) | undefined;
  /** Told of each run, once. */
  readonly onOutcome: (outcome: CredentialOutcome, run: ExecRun) => void;
}

/** What there is to say of a run without a secret. */
export interface ExecRun {
  readonly command: string;
  /** Those who use the credential, by name. */
  readonly users: readonly string[];
}

export interface ExecUser {
  /** For people. */
  readonly name: string;
  /** Told of each run before those who wait for it. */
  readonly onOutcome: (outcome: CredentialOutcome) => void;
}

export class ExecSources implements AsyncDisposable {
  readonly #options: ExecSourcesOptions;
  readonly #slots: RunSlots;
  /** By a digest of the plugin. Bounded by those who use one; an entry leaves with the last of them. */
  readonly #shared = new Map<string, SharedSource>();
  /** Those, and others that are about to end. */
  readonly #sources = new Set<ExecSource>();

  constructor(options: ExecSourcesOptions) {
    this.#options = options;
    this.#slots = new RunSlots(options.maxRunning);
  }

  /** Plugins that somebody uses. */
  get size(): number {
    return this.#shared.size;
  }

  /** Plugins that run now. */
  get running(): number {
    return this.#slots.running;
  }

  /** The credential of that plugin for one who uses it, until it is disposed of. Nothing is run yet. */
  open(plugin: ExecPlugin, user: ExecUser): CredentialSource {
    const key = keyOf(plugin);
    const shared = this.#shared.get(key) ?? this.#add(key, plugin);
    shared.users.add(user);
    return new UsedSource(shared.source, () => this.#leave(key, shared, user));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#shared.clear();
    await Promise.all(Array.from(this.#sources, (source) => this.#end(source)));
  }

  #add(key: string, plugin: ExecPlugin): SharedSource {
    const { environment, timeoutMs, showStderr, clock, random, onOutcome } = this.#options;
    const users = new Set<ExecUser>();
    const source = new ExecSource({
      plugin,
      environment,
      timeoutMs,
      showStderr,
      slots: this.#slots,
      clock: clock ?? systemClock,
      random: random ?? Math.random,
      onOutcome: (outcome) => {
        for (const user of users) {
          user.onOutcome(outcome);
        }
        onOutcome(outcome, { command: plugin.command, users: Array.from(users, ({ name }) => name) });
      },
    });
    const shared = { source, users };
    if (this.#sources.size === 0) {
      process.on('exit', this.#exiting);
    }
    this.#sources.add(source);
    this.#shared.set(key, shared);
    return shared;
  }

  async #leave(key: string, shared: SharedSource, user: ExecUser): Promise<void> {
    shared.users.delete(user);
    if (shared.users.size === 0 && this.#shared.get(key) === shared) {
      this.#shared.delete(key);
      await this.#end(shared.source);
    }
  }

  async #end(source: ExecSource): Promise<void> {
    await source[Symbol.asyncDispose]();
    this.#sources.delete(source);
    if (this.#sources.size === 0) {
      process.off('exit', this.#exiting);
    }
  }

  readonly #exiting = (): void => {
    for (const source of this.#sources) {
      source.kill();
    }
  };
}

interface SharedSource {
  readonly source: ExecSource;
  /** Bounded by those who opened it. */
  readonly users: Set<ExecUser>;
}

/** What one of several users holds. Its end is theirs, and not the end of what the others use. */
class UsedSource implements CredentialSource {
  readonly #source: ExecSource;
  readonly #leave: () => Promise<void>;
  #left: Promise<void> | undefined;

  constructor(source: ExecSource, leave: () => Promise<void>) {
    this.#source = source;
    this.#leave = leave;
  }

  get error(): KubernetesError | undefined {
    return this.#source.error;
  }

  get expiresAt(): Date | undefined {
    return this.#source.expiresAt;
  }

  present(): PresentCredential | undefined {
    return this.#source.present();
  }

  get(): Promise<PresentCredential> {
    return this.#source.get();
  }

  renew(refused: PresentCredential): Promise<void> {
    return this.#source.renew(refused);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#left ??= this.#leave();
    await this.#left;
  }
}

function keyOf({ command, args, env, apiVersion, info, allowlist }: ExecPlugin): string {
  return createHash('sha256')
    .update(JSON.stringify([command, args, env, apiVersion, info, allowlist]))
    .digest('hex');
}
