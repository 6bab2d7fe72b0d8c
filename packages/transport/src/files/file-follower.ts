/**
 * Follows files by content: what a loader reads is read again when a file event says so and after every interval, the
 * loader runs again when some byte of it has changed, and its last good result stays when it fails. Events are taken
 * from the folders, since an editor, `mv` and a Kubernetes volume (which swaps the link `..data`) all put a new file in
 * the place of the old one. The follower owns its watchers and its timer.
 */

import { createHash } from 'node:crypto';
import { constants, watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { open, realpath } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { systemClock } from '../clock.ts';
import type { Clock, Timer } from '../clock.ts';

/** Reads a whole file, and notes that the result depends on it. */
export type ReadFile = (path: string) => Promise<Buffer>;

export interface FileFollowerOptions<T> {
  /** Throws when what it reads cannot be used. Everything that it depends on is read through `read`. */
  readonly load: (read: ReadFile) => Promise<T>;
  /** A new good result; not called for the first one, which is in `value`. */
  readonly onChange: (value: T) => void;
  /** Called once per bad content, not once per look at it. */
  readonly onError: (error: Error) => void;
  /** The longest time in which a change stays unseen where file events do not reach. Default 30 s. */
  readonly intervalMs?: number | undefined;
  /** The shortest time between two looks, however many events come. Default 500 ms. */
  readonly minGapMs?: number | undefined;
  /** Larger files are refused. Default 4 MiB. */
  readonly maxBytes?: number | undefined;
  readonly clock?: Clock | undefined;
}

/** A writer that truncates and then writes is left alone for so long before its file is looked at. */
const settleMs = 50;

export class FileFollower<T> implements AsyncDisposable {
  readonly #options: FileFollowerOptions<T>;
  readonly #intervalMs: number;
  readonly #minGapMs: number;
  readonly #maxBytes: number;
  readonly #clock: Clock;
  #value: T;
  #error: Error | undefined;
  #digest: string;
  /** What the last load has read, good or bad. Replaced by each load. */
  #paths: readonly string[];
  /** By folder; replaced when the folders change, closed at the end. */
  readonly #watchers = new Map<string, FSWatcher>();
  #timer: Timer | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #lookedAt: number;
  #looking: Promise<void> | undefined;
  #nextLook: Promise<void> | undefined;
  #closed = false;

  private constructor(options: FileFollowerOptions<T>, first: Loaded<T> & { readonly value: T }) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? 30_000;
    this.#minGapMs = options.minGapMs ?? 500;
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes;
    this.#clock = options.clock ?? systemClock;
    this.#lookedAt = this.#clock.now();
    this.#value = first.value;
    this.#digest = first.digest;
    this.#paths = first.paths;
  }

  /** @throws what the first load throws: a program does not start on what it cannot use. */
  static async open<T>(options: FileFollowerOptions<T>): Promise<FileFollower<T>> {
    const first = await run(options.load, options.maxBytes ?? defaultMaxBytes);
    if (!('value' in first)) {
      throw first.error;
    }
    const follower = new FileFollower(options, first);
    await follower.#watchFolders();
    follower.#lookIn(follower.#intervalMs);
    return follower;
  }

  /** The last good result. */
  get value(): T {
    return this.#value;
  }

  /** Why the present content is not the one in use; undefined when it is. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Looks now, and resolves when it is known whether something has changed. */
  async look(): Promise<void> {
    if (this.#looking === undefined) {
      await this.#lookNow();
      return;
    }
    // What is under way may have read already what has changed since: one more, for all who ask meanwhile.
    this.#nextLook ??= this.#looking.then(() => {
      this.#nextLook = undefined;
      return this.#lookNow();
    });
    await this.#nextLook;
  }

  #lookNow(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#timer?.cancel();
    for (const watcher of this.#watchers.values()) {
      watcher.close();
    }
    this.#watchers.clear();
    await this.#looking;
    await this.#nextLook;
  }

  async #look(): Promise<void> {
    this.#lookedAt = this.#clock.now();
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#closed) {
      return;
    }
    const digest = await digestOf(this.#paths, this.#maxBytes);
    if (digest !== this.#digest && !this.#closed) {
      const loaded = await run(this.#options.load, this.#maxBytes);
      if (!this.#closed) {
        this.#take(loaded);
      }
    }
    await this.#watchFolders();
    this.#lookIn(this.#intervalMs);
  }

  #take(loaded: Loaded<T>): void {
    this.#digest = loaded.digest;
    this.#paths = loaded.paths;
    if ('value' in loaded) {
      this.#value = loaded.value;
      this.#error = undefined;
      this.#options.onChange(loaded.value);
    } else {
      this.#error = loaded.error;
      this.#options.onError(loaded.error);
    }
  }

  /** The earliest wish counts; timers never keep the process alive. */
  #lookIn(ms: number): void {
    const dueAt = this.#clock.now() + ms;
    if (this.#closed || dueAt >= this.#dueAt) {
      return;
    }
    this.#dueAt = dueAt;
    this.#timer?.cancel();
    this.#timer = this.#clock.setTimeout(() => void this.#lookNow(), ms);
  }

  #changed(): void {
    // The gap itself bounds it, so that a system clock that is set back silences no event.
    const rest = Math.min(this.#lookedAt + this.#minGapMs - this.#clock.now(), this.#minGapMs);
    this.#lookIn(Math.max(settleMs, rest));
  }

  /** The folder of each file, and the folder where the file really is when the way leads over links. */
  async #watchFolders(): Promise<void> {
    const names = new Map<string, Set<string>>();
    const add = (path: string): void => {
      const folder = dirname(path);
      names.set(folder, (names.get(folder) ?? new Set(['..data'])).add(basename(path)));
    };
    for (const path of this.#paths) {
      add(path);
      const real = await realpath(path).catch(() => path);
      add(real);
    }
    if (this.#closed) {
      return;
    }
    for (const [folder, watcher] of this.#watchers) {
      if (!names.has(folder)) {
        watcher.close();
        this.#watchers.delete(folder);
      }
    }
    for (const [folder, wanted] of names) {
      if (!this.#watchers.has(folder)) {
        this.#watch(folder, wanted);
        // What changed between the reading and the watch was heard by nobody.
        this.#changed();
      }
    }
  }

  #watch(folder: string, wanted: ReadonlySet<string>): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name === null || wanted.has(name)) {
          this.#changed();
        }
      });
      const drop = (): void => {
        watcher.close();
        if (this.#watchers.get(folder) === watcher) {
          this.#watchers.delete(folder);
        }
      };
      // A folder that goes away takes its events along; the interval notices when it comes back.
      watcher.on('error', drop);
      this.#watchers.set(folder, watcher);
    } catch {
      // A folder that cannot be watched (it is missing, or the limit of watches is reached) leaves the interval.
    }
  }
}

const defaultMaxBytes = 4 * 1024 * 1024;

type Loaded<T> = { readonly digest: string; readonly paths: readonly string[] } & (
  | { readonly value: T }
  | { readonly error: Error }
);

/** Runs the loader over one consistent reading: each file is read once, and what was read is what was digested. */
async function run<T>(load: (read: ReadFile) => Promise<T>, maxBytes: number): Promise<Loaded<T>> {
  const contents = new Map<string, Promise<Buffer>>();
  const read: ReadFile = (path) => {
    const absolute = resolve(path);
    const content = contents.get(absolute) ?? readLimited(absolute, maxBytes);
    contents.set(absolute, content);
    return content;
  };
  const result = await load(read).then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error instanceof Error ? error : new Error(String(error)) }),
  );
  return { ...result, digest: await digestContents(contents), paths: [...contents.keys()] };
}

async function digestOf(paths: readonly string[], maxBytes: number): Promise<string> {
  return digestContents(new Map(paths.map((path) => [path, readLimited(path, maxBytes)])));
}

async function digestContents(contents: ReadonlyMap<string, Promise<Buffer>>): Promise<string> {
  // All at once and settled, so that no rejection is left without somebody who looks at it.
  const outcomes = await Promise.allSettled(contents.values());
  const hash = createHash('sha256');
  for (const [index, path] of [...contents.keys()].entries()) {
    const outcome = outcomes[index];
    hash.update(`${path.length}:${path}`);
    if (outcome?.status === 'fulfilled') {
      hash.update(`${outcome.value.length}:`).update(outcome.value);
    } else {
      hash.update(`!${codeOf(outcome?.reason)}`);
    }
  }
  return hash.digest('hex');
}

/** Reads at most the limit and a byte, whatever the file claims to be: /dev/zero is a file, too. */
async function readLimited(path: string, maxBytes: number): Promise<Buffer> {
  // A pipe that nobody writes to would hold the open, a thread and the end of the process for ever.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const stat = await file.stat();
  if (!stat.isFile()) {
    throw Object.assign(new Error(`${path} is not a file`), { code: 'ERR_NOT_A_FILE' });
  }
  if (stat.size > maxBytes) {
    throw tooLarge(path, maxBytes);
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  // It may have grown since, so the limit counts what is read.
  while (bytes <= maxBytes) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(65_536), 0, 65_536, null);
    if (bytesRead === 0) {
      return Buffer.concat(chunks);
    }
    chunks.push(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
  }
  throw tooLarge(path, maxBytes);
}

function tooLarge(path: string, maxBytes: number): Error {
  return Object.assign(new Error(`${path} is larger than ${maxBytes} bytes`), { code: 'ERR_TOO_LARGE' });
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error);
}
