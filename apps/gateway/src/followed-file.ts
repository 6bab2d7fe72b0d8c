/**
 * A file that the gateway itself listens with, followed live: what becomes unusable leaves the last good in use, with one
 * line in the log for each bad content, and shows among the sources until it is good again.
 */

import { ProcessError } from '@roundhouse/process';
import type { Logger } from '@roundhouse/process';
import { FileFollower } from '@roundhouse/transport';
import type { ReadFile } from '@roundhouse/transport';

export interface FollowedFileOptions<T> {
  /** For people: `token file`. */
  readonly what: string;
  /** The one that it is known by; `load` may read more. */
  readonly path: string;
  /** Throws, without quoting a secret, when the content cannot be used. */
  readonly load: (read: ReadFile) => Promise<T>;
  readonly onChange?: ((value: T) => void) | undefined;
  readonly intervalMs: number;
  readonly maxBytes?: number | undefined;
  readonly log: Logger;
}

/** What there is to know of one without its content. */
export interface FollowedSource {
  readonly path: string;
  readonly error: Error | undefined;
}

export class FollowedFile<T> implements FollowedSource, AsyncDisposable {
  readonly path: string;
  readonly #follower: FileFollower<T>;

  private constructor(path: string, follower: FileFollower<T>) {
    this.path = path;
    this.#follower = follower;
  }

  /** @throws ERR_RH_FILE_UNUSABLE */
  static async open<T>(options: FollowedFileOptions<T>): Promise<FollowedFile<T>> {
    const { what, path, load, onChange, intervalMs, maxBytes, log } = options;
    const follower = await FileFollower.open<T>({
      load: (read) =>
        load(read).catch((cause: unknown) => {
          throw unusable(what, path, cause);
        }),
      onChange: (value) => {
        log.info({ source: path }, `${what} read`);
        onChange?.(value);
      },
      onError: ({ message }) =>
        log.error({ source: path, reason: message }, `${what} unusable, the last good one stays in use`),
      intervalMs,
      maxBytes,
    });
    return new FollowedFile(path, follower);
  }

  /** The last good one. */
  get value(): T {
    return this.#follower.value;
  }

  /** Why the present content is not the one in use; undefined when it is. */
  get error(): Error | undefined {
    return this.#follower.error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#follower[Symbol.asyncDispose]();
  }
}

function unusable(what: string, path: string, cause: unknown): ProcessError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  const ofFileSystem = cause instanceof Error && 'syscall' in cause;
  return new ProcessError(
    'ERR_RH_FILE_UNUSABLE',
    ofFileSystem ? `cannot read the ${what} ${path}: ${reason}` : `the ${what} ${path}: ${reason}`,
    { cause },
  );
}
