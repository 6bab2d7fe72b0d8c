/**
 * Follows files by content: what a loader reads is read again when a file event says so and after every interval, the
 * loader runs again when some byte of it has changed, and its last good result stays when it fails. Events are taken
 * from the folders, since an editor, `mv` and a Kubernetes volume (which swaps the link `..data`) all put a new file in
 * the place of the old one. The follower owns its watchers and its timer.
 */

import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { systemClock } from '../clock.ts';
import type { Clock, Timer } from '../clock.ts';
import { FileContents, forEach } from './file-contents.ts';
import type { LoadedContents } from './file-contents.ts';

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
  readonly #clock: Clock;
  #value: T;
  #error: Error | undefined;
  readonly #contents: FileContents;
  /** The files that an event of a folder may be about. Replaced when all are looked at. */
  #byFolder: ReadonlyMap<string, FolderFiles> = new Map();
  /** By folder; replaced when the folders change, closed at the end. */
  readonly #watchers = new Map<string, FSWatcher>();
  /** Folders with events since the last look. */
  #stirred = new Set<string>();
  /** When all files must be looked at, events or not. */
  #allDueAt: number;
  #timer: Timer | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  #lookedAt: number;
  #looking: Promise<void> | undefined;
  #nextLook: Promise<void> | undefined;
  #closed = false;

  private constructor(options: FileFollowerOptions<T>, contents: FileContents, value: T) {
    this.#options = options;
    this.#intervalMs = options.intervalMs ?? 30_000;
    this.#minGapMs = options.minGapMs ?? 500;
    this.#clock = options.clock ?? systemClock;
    this.#lookedAt = this.#clock.now();
    this.#allDueAt = this.#lookedAt + this.#intervalMs;
    this.#value = value;
    this.#contents = contents;
  }

  /** @throws what the first load throws: a program does not start on what it cannot use. */
  static async open<T>(options: FileFollowerOptions<T>): Promise<FileFollower<T>> {
    const contents = new FileContents(options.maxBytes ?? defaultMaxBytes);
    const first = await load(options.load, contents);
    if (!('value' in first)) {
      throw first.error;
    }
    const follower = new FileFollower(options, contents, first.value);
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

  /** Looks at all files now, and resolves when it is known whether something has changed. */
  async look(): Promise<void> {
    this.#allDueAt = 0;
    if (this.#looking === undefined) {
      await this.#lookNow();
      return;
    }
    // What is under way may have read already what has changed since: one more, for all who ask meanwhile.
    this.#nextLook ??= this.#looking.then(() => {
      this.#nextLook = undefined;
      this.#allDueAt = 0;
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
    const now = this.#clock.now();
    this.#lookedAt = now;
    this.#dueAt = Number.POSITIVE_INFINITY;
    if (this.#closed) {
      return;
    }
    const all = this.#restMs(now) <= 0;
    const stirred = this.#stirred;
    this.#stirred = new Set();
    if (all) {
      this.#allDueAt = now + this.#intervalMs;
    }
    const changed = await this.#contents.refresh(all ? this.#contents.paths : this.#pathsIn(stirred));
    if (changed && !this.#closed) {
      const loaded = await load(this.#options.load, this.#contents);
      if (!this.#closed) {
        this.#take(loaded);
      }
    }
    if (all || changed) {
      await this.#watchFolders();
    }
    this.#lookIn(Math.max(0, this.#restMs(this.#clock.now())));
    if (this.#stirred.size > 0) {
      this.#lookSoon();
    }
  }

  /** Until all are due; nothing, too, when the system clock was set back. */
  #restMs(now: number): number {
    const restMs = this.#allDueAt - now;
    return restMs > this.#intervalMs ? 0 : restMs;
  }

  #pathsIn(folders: Iterable<string>): ReadonlySet<string> {
    return new Set([...folders].flatMap((folder) => [...(this.#byFolder.get(folder)?.paths ?? [])]));
  }

  #take(loaded: Loaded<T>): void {
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

  #changed(folder: string): void {
    this.#stirred.add(folder);
    this.#lookSoon();
  }

  #lookSoon(): void {
    // The gap itself bounds it, so that a system clock that is set back silences no event.
    const rest = Math.min(this.#lookedAt + this.#minGapMs - this.#clock.now(), this.#minGapMs);
    this.#lookIn(Math.max(settleMs, rest));
  }

  /** The folder of each file, and the folder where the file really is when the way leads over links. */
  async #watchFolders(): Promise<void> {
    const byFolder = new Map<string, FolderFiles>();
    await forEach(this.#contents.paths, async (path) => {
      for (const place of new Set([path, await realpath(path).catch(() => path)])) {
        const folder = dirname(place);
        const files = byFolder.get(folder) ?? { names: new Set(['..data']), paths: new Set() };
        files.names.add(basename(place));
        files.paths.add(path);
        byFolder.set(folder, files);
      }
    });
    if (this.#closed) {
      return;
    }
    this.#byFolder = byFolder;
    for (const [folder, watcher] of this.#watchers) {
      if (!byFolder.has(folder)) {
        watcher.close();
        this.#watchers.delete(folder);
      }
    }
    for (const folder of byFolder.keys()) {
      if (!this.#watchers.has(folder)) {
        this.#watch(folder);
        // What changed between the reading and the watch was heard by nobody.
        this.#changed(folder);
      }
    }
  }

  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, (_event, name) => {
        if (name === null || this.#byFolder.get(folder)?.names.has(name) === true) {
          this.#changed(folder);
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

interface FolderFiles {
  /** Whose events count. */
  readonly names: Set<string>;
  readonly paths: Set<string>;
}

type Loaded<T> = { readonly value: T } | { readonly error: Error };

/** Runs the loader over one consistent reading: each file was read once, and what was read is what is compared later. */
async function load<T>(run: FileFollowerOptions<T>['load'], contents: FileContents): Promise<Loaded<T>> {
  const loaded: LoadedContents = new Map();
  const result = await run((path) => contents.take(resolve(path), loaded)).then(
    (value) => ({ value }),
    (error: unknown) => ({ error: error instanceof Error ? error : new Error(String(error)) }),
  );
  await contents.keepOnly(loaded);
  return result;
}
