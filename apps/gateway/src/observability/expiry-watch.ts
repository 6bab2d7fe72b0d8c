/**
 * Warns of certificates that end soon: once when a fifth of their life is left, once when a twentieth is, and when they are over; of
 * long ones not before 30 days and 3 days. What short-lived ones are renewed at in good time stays quiet.
 */

import type { Logger } from '@roundhouse/process';

/** A certificate in use, by what it is for. */
export interface WatchedCertificate {
  /** For people and for the log: a cluster and a part of its material, or the file of the listener. */
  readonly fields: Readonly<Record<string, string>>;
  readonly expiresAt: Date;
  readonly validFrom: Date;
}

export interface ExpiryWatchOptions {
  readonly certificates: () => Iterable<WatchedCertificate>;
  readonly log: Logger;
  readonly now?: (() => number) | undefined;
}

/** In order of severity. */
type Stage = 'good' | 'soon' | 'very-soon' | 'over';

const intervalMs = 60_000;
const dayMs = 86_400_000;

export class ExpiryWatch implements Disposable {
  readonly #options: ExpiryWatchOptions;
  readonly #timer: NodeJS.Timeout;
  /** What was told last, by certificate. Replaced by each look, so that what is gone is forgotten. */
  #told: ReadonlyMap<string, Stage> = new Map();

  private constructor(options: ExpiryWatchOptions) {
    this.#options = options;
    this.#timer = setInterval(() => this.look(), intervalMs);
    this.#timer.unref();
  }

  static start(options: ExpiryWatchOptions): ExpiryWatch {
    return new ExpiryWatch(options);
  }

  look(): void {
    const { certificates, now = Date.now } = this.#options;
    const told = new Map<string, Stage>();
    for (const certificate of certificates()) {
      const key = JSON.stringify([certificate.fields, certificate.expiresAt]);
      const stage = stageOf(certificate, now());
      if (stage !== 'good' && stage !== this.#told.get(key) && !told.has(key)) {
        this.#warn(certificate, stage, now());
      }
      told.set(key, stage);
    }
    this.#told = told;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #warn({ fields, expiresAt }: WatchedCertificate, stage: Stage, now: number): void {
    const { log } = this.#options;
    const days = Math.floor(((expiresAt.getTime() - now) / dayMs) * 10) / 10;
    if (stage === 'over') {
      log.error({ ...fields, expiresAt }, 'certificate has expired');
    } else {
      log.warn(
        { ...fields, expiresAt, days },
        `certificate expires ${stage === 'soon' ? 'soon' : 'very soon'}`,
      );
    }
  }
}

function stageOf({ expiresAt, validFrom }: WatchedCertificate, now: number): Stage {
  const left = expiresAt.getTime() - now;
  const life = expiresAt.getTime() - validFrom.getTime();
  if (left <= 0) {
    return 'over';
  }
  if (left < Math.min(3 * dayMs, life / 20)) {
    return 'very-soon';
  }
  return left < Math.min(30 * dayMs, life / 5) ? 'soon' : 'good';
}
