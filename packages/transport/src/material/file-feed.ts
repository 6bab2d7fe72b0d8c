/** Contents from files, followed by events and by the interval. What cannot be read is content, too: it is told once. */

import { FileFollower } from '../files/file-follower.ts';
import type { ReadFile } from '../files/file-follower.ts';
import type { FeedOptions, MaterialFeed } from './material-feed.ts';
import { unavailable } from './material-part.ts';
import type { MaterialContent, MaterialContents } from './material-part.ts';

export interface MaterialFiles {
  readonly caFile?: string | undefined;
  /** With `keyFile`. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

/** A bundle of all public roots is about 250 KiB. */
const maxFileBytes = 4 * 1_048_576;

export class FileFeed implements MaterialFeed {
  readonly #opening: Promise<FileFollower<MaterialContents>>;

  constructor(files: MaterialFiles, { clock, intervalMs, take }: FeedOptions) {
    this.#opening = FileFollower.open<MaterialContents>({
      load: (read) => readAll(files, read),
      onChange: take,
      onError: () => undefined,
      intervalMs,
      maxBytes: maxFileBytes,
      clock,
    }).then((follower) => {
      take(follower.value);
      return follower;
    });
  }

  async look(): Promise<void> {
    const follower = await this.#opening;
    await follower.look();
  }

  async settled(): Promise<void> {
    await this.#opening;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const follower = await this.#opening;
    await follower[Symbol.asyncDispose]();
  }
}

async function readAll(
  { caFile, certFile, keyFile }: MaterialFiles,
  read: ReadFile,
): Promise<MaterialContents> {
  const [ca, cert, key] = await Promise.all([
    readOne('CA bundle', caFile, read),
    readOne('client certificate', certFile, read),
    readOne('client key', keyFile, read),
  ]);
  return { ca, cert, key };
}

async function readOne(
  what: string,
  path: string | undefined,
  read: ReadFile,
): Promise<MaterialContent | undefined> {
  if (path === undefined) {
    return undefined;
  }
  try {
    return await read(path);
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    return unavailable(`cannot read the ${what} ${path}: ${reason}`, cause);
  }
}
