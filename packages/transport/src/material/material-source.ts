/**
 * TLS material that changes while it is in use: from files, from a callback, or pushed. CA and client pair reload apart from each
 * other; what cannot be used is told once and leaves the last good in use. It runs from its first follower to its last one, so
 * nobody has to end it, and nothing is read because of a request.
 */

import { systemClock } from '../clock.ts';
import type { Clock, Timer } from '../clock.ts';
import { TlsMaterial } from '../tls-material.ts';
import { CallbackFeed } from './callback-feed.ts';
import type { LoadMaterial } from './callback-feed.ts';
import { FileFeed } from './file-feed.ts';
import type { MaterialFiles } from './file-feed.ts';
import type { MaterialFeed, OpenFeed } from './material-feed.ts';
import { MaterialPart, unavailable } from './material-part.ts';
import type { MaterialContents, MaterialPartName, MaterialPartStatus, PartOutcome } from './material-part.ts';

export interface MaterialSourceOptions {
  /** The longest time in which a change stays unseen where no event tells of it. Default 30 s. */
  readonly intervalMs?: number | undefined;
  /**
   * A certificate and a key that are whole and not of each other are told of after this time only: somebody may be writing the
   * other half. They are not used in the meantime either. Default 5 s.
   */
  readonly pairGraceMs?: number | undefined;
  readonly clock?: Clock | undefined;
}

export interface CallbackOptions extends MaterialSourceOptions {
  /** What it gives; default: both. */
  readonly parts?: readonly MaterialPartName[] | undefined;
  /** The longest time for one answer. Default 10 s. */
  readonly timeoutMs?: number | undefined;
}

export interface PushOptions extends Pick<MaterialSourceOptions, 'pairGraceMs' | 'clock'> {
  /** What will be pushed; nothing is in use before each of them was. Default: both. */
  readonly parts?: readonly MaterialPartName[] | undefined;
}

export interface MaterialChange {
  /** What has changed; both when they were found together. */
  readonly parts: readonly MaterialPartName[];
  readonly material: TlsMaterial;
}

export interface BadMaterial {
  readonly parts: readonly MaterialPartName[];
  /** Nothing of the content is in it. */
  readonly error: Error;
}

export interface MaterialListener {
  /** Other material is in use. Not called for the first. */
  readonly changed?: (change: MaterialChange) => void;
  /** Called once for each content that cannot be used, not for each look at it. */
  readonly bad?: (bad: BadMaterial) => void;
}

/** What there is to know without the content. A part that the source does not have is undefined. */
export type MaterialStatus = Readonly<Record<MaterialPartName, MaterialPartStatus | undefined>>;

export class MaterialSource {
  readonly #openFeed: OpenFeed;
  readonly #parts: readonly MaterialPart[];
  readonly #intervalMs: number;
  readonly #pairGraceMs: number;
  readonly #clock: Clock;
  /** Each leaves when it is disposed of. */
  readonly #followers = new Set<MaterialFollower>();
  #feed: MaterialFeed | undefined;
  #material: TlsMaterial | undefined;
  #grace: Timer | undefined;

  private constructor(
    openFeed: OpenFeed,
    parts: readonly MaterialPartName[],
    options: MaterialSourceOptions,
  ) {
    this.#openFeed = openFeed;
    this.#parts = [...new Set(parts)].map((name) => new MaterialPart(name));
    this.#intervalMs = options.intervalMs ?? 30_000;
    this.#pairGraceMs = options.pairGraceMs ?? 5_000;
    this.#clock = options.clock ?? systemClock;
    this.#material = this.#parts.length === 0 ? TlsMaterial.none : undefined;
  }

  /** From PEM files, by content: replaced in place, by `mv`, or by the swap of a Kubernetes volume. */
  static fromFiles(files: MaterialFiles, options: MaterialSourceOptions = {}): MaterialSource {
    return new MaterialSource((feed) => new FileFeed(files, feed), partsOf(files), options);
  }

  /** From a function that is asked again after every interval. It gives everything each time; equal content is no change. */
  static fromCallback(load: LoadMaterial, options: CallbackOptions = {}): MaterialSource {
    const { parts = bothParts, timeoutMs = 10_000 } = options;
    return new MaterialSource((feed) => new CallbackFeed(load, timeoutMs, feed), parts, options);
  }

  /** From whoever calls `push`. */
  static pushed(options: PushOptions = {}): MaterialSource {
    return new MaterialSource(() => nothingToLookAt, options.parts ?? bothParts, options);
  }

  /** What is in use: the last good of each part. Undefined while there is not one of each. */
  get material(): TlsMaterial | undefined {
    return this.#material;
  }

  get status(): MaterialStatus {
    const statusOf = (wanted: MaterialPartName): MaterialPartStatus | undefined =>
      this.#parts.find(({ name }) => name === wanted)?.status;
    return { ca: statusOf('ca'), pair: statusOf('pair') };
  }

  /** @throws ERR_RH_MATERIAL_UNAVAILABLE, ERR_RH_MATERIAL_INVALID: why there is none in use */
  present(): TlsMaterial {
    if (this.#material !== undefined) {
      return this.#material;
    }
    const missing = this.#parts.filter(({ material }) => material === undefined);
    const reason = missing.find(({ error }) => error !== undefined)?.error;
    const names = missing.map(({ name }) => partNames[name]).join(' and no ');
    throw reason ?? unavailable(`no ${names} was given yet`);
  }

  /** What was found elsewhere. Parts that are left out stay what they are; an `Error` says why one could not be had. */
  push(contents: MaterialContents): void {
    this.#take(contents);
  }

  /** Runs the source until the follower is disposed of. */
  follow(listener: MaterialListener = {}): MaterialFollower {
    this.#feed ??= this.#openFeed({
      clock: this.#clock,
      intervalMs: this.#intervalMs,
      take: (contents) => this.#take(contents),
    });
    const follower = new MaterialFollower(this, listener, this.#feed, (left) => this.#left(left));
    this.#followers.add(follower);
    return follower;
  }

  async #left(follower: MaterialFollower): Promise<void> {
    const feed = this.#feed;
    if (this.#followers.delete(follower) && this.#followers.size === 0 && feed !== undefined) {
      this.#feed = undefined;
      this.#grace?.cancel();
      await feed[Symbol.asyncDispose]();
    }
  }

  #take(contents: MaterialContents): void {
    const now = this.#clock.now();
    const outcomes = this.#parts.map((part) => [part, part.take(contents, now)] as const);
    const withOutcome = (wanted: PartOutcome): MaterialPart[] =>
      outcomes.filter(([, outcome]) => outcome === wanted).map(([part]) => part);
    this.#use(withOutcome('changed'));
    const bad = withOutcome('bad');
    const half = bad.find(({ error }) => TlsMaterial.isMismatch(error));
    if (half !== undefined && this.#feed !== undefined && this.#pairGraceMs > 0) {
      this.#tellLater(half);
      this.#tellBad(bad.filter((part) => part !== half));
    } else {
      this.#tellBad(bad);
    }
  }

  #use(changed: readonly MaterialPart[]): void {
    if (changed.length === 0 || this.#parts.some(({ material }) => material === undefined)) {
      return;
    }
    const materialOf = (wanted: MaterialPartName): TlsMaterial =>
      this.#parts.find(({ name }) => name === wanted)?.material ?? TlsMaterial.none;
    const former = this.#material;
    const material = materialOf('ca').withPairOf(materialOf('pair'));
    this.#material = material;
    if (former !== undefined) {
      const parts = changed.map(({ name }) => name);
      for (const { listener } of this.#followers) {
        listener.changed?.({ parts, material });
      }
    }
  }

  /** Unless the other half comes in time. */
  #tellLater(part: MaterialPart): void {
    const { error } = part;
    this.#grace?.cancel();
    this.#grace = this.#clock.setTimeout(() => {
      if (part.error === error) {
        this.#tellBad([part]);
      }
    }, this.#pairGraceMs);
  }

  /** What failed of one cause is one thing to tell. */
  #tellBad(bad: readonly MaterialPart[]): void {
    const byError = Map.groupBy(bad, ({ error }) => error);
    for (const [error, parts] of byError) {
      for (const part of parts) {
        part.countBad();
      }
      if (error !== undefined) {
        for (const { listener } of this.#followers) {
          listener.bad?.({ parts: parts.map(({ name }) => name), error });
        }
      }
    }
  }
}

/** Holds a source running. */
export class MaterialFollower implements AsyncDisposable {
  readonly listener: MaterialListener;
  readonly #source: MaterialSource;
  readonly #feed: MaterialFeed;
  readonly #leave: (follower: MaterialFollower) => Promise<void>;

  /** For `MaterialSource.follow`. */
  constructor(
    source: MaterialSource,
    listener: MaterialListener,
    feed: MaterialFeed,
    leave: (follower: MaterialFollower) => Promise<void>,
  ) {
    this.listener = listener;
    this.#source = source;
    this.#feed = feed;
    this.#leave = leave;
  }

  /**
   * What is in use; waits for what is being looked at if nothing was good yet. A failure is that of the last look, which is
   * repeated after the interval and when a file changes, not for each who asks.
   *
   * @throws ERR_RH_MATERIAL_UNAVAILABLE, ERR_RH_MATERIAL_INVALID
   */
  async ready(): Promise<TlsMaterial> {
    if (this.#source.material === undefined) {
      await this.#feed.settled();
    }
    return this.#source.present();
  }

  /** Looks now; resolves when it is known whether something has changed. */
  async look(): Promise<void> {
    await this.#feed.look();
  }

  /** Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave(this);
  }
}

const bothParts = ['ca', 'pair'] as const satisfies readonly MaterialPartName[];

const partNames: Readonly<Record<MaterialPartName, string>> = {
  ca: 'CA bundle',
  pair: 'client certificate',
};

const nothingToLookAt: MaterialFeed = {
  look: () => Promise.resolve(),
  settled: () => Promise.resolve(),
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

function partsOf({ caFile, certFile, keyFile }: MaterialFiles): MaterialPartName[] {
  return [
    ...(caFile === undefined ? [] : (['ca'] as const)),
    ...(certFile === undefined && keyFile === undefined ? [] : (['pair'] as const)),
  ];
}
