/**
 * What is known of the content of files: read once for each look, by few at a time so that thousands hold nothing else up, and compared
 * byte by byte.
 */

import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Bytes, or why there are none; that counts as content, too. */
type FileContent = Buffer | Error;

/** What one load has asked for, by absolute path. */
export type LoadedContents = Map<string, Promise<FileContent>>;

export class FileContents {
  readonly #maxBytes: number;
  /** By absolute path; those that the last load has read. */
  #known: ReadonlyMap<string, FileContent> = new Map();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get paths(): readonly string[] {
    return [...this.#known.keys()];
  }

  /** Reads these once more. Whether any of them has changed; what is known is as it was read now in any case. */
  async refresh(paths: Iterable<string>): Promise<boolean> {
    const read = new Map(this.#known);
    let changed = false;
    await forEach(paths, async (path) => {
      const content = await contentOf(path, this.#maxBytes);
      if (!isEqual(read.get(path), content)) {
        read.set(path, content);
        changed = true;
      }
    });
    this.#known = read;
    return changed;
  }

  /**
   * What is known of a file, read now if it was not known, for one load: each path counts as of it from then on.
   *
   * @param loaded what the load has asked for
   */
  async take(path: string, loaded: LoadedContents): Promise<Buffer> {
    const known = this.#known.get(path);
    const content =
      loaded.get(path) ?? (known === undefined ? contentOf(path, this.#maxBytes) : Promise.resolve(known));
    loaded.set(path, content);
    const found = await content;
    if (found instanceof Error) {
      throw found;
    }
    return found;
  }

  /** What no load asks for any more is forgotten. */
  async keepOnly(loaded: LoadedContents): Promise<void> {
    this.#known = new Map(
      await Promise.all([...loaded].map(async ([path, content]) => [path, await content] as const)),
    );
  }
}

/** So many files are read at a time. */
const width = 16;

export async function forEach<Item>(
  items: Iterable<Item>,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) {
      await work(next.value);
    }
  };
  await Promise.all(Array.from({ length: width }, worker));
}

async function contentOf(path: string, maxBytes: number): Promise<FileContent> {
  try {
    return await readLimited(path, maxBytes);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function isEqual(left: FileContent | undefined, right: FileContent): boolean {
  return Buffer.isBuffer(left) && Buffer.isBuffer(right)
    ? left.equals(right)
    : left instanceof Error && right instanceof Error && codeOf(left) === codeOf(right);
}

/** Reads at most the limit and a byte, whatever the file claims to be: /dev/zero is a file, too. */
async function readLimited(path: string, maxBytes: number): Promise<Buffer> {
  // A pipe that nobody writes to would hold the open, a thread and the end of the process for ever.
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const { size, isFile } = await file.stat().then((stat) => ({ size: stat.size, isFile: stat.isFile() }));
  if (!isFile) {
    throw Object.assign(new Error(`${path} is not a file`), { code: 'ERR_NOT_A_FILE' });
  }
  if (size > maxBytes) {
    throw tooLarge(path, maxBytes);
  }
  // A byte more than it should have, which says at once whether that was all.
  const wanted = size === 0 ? 65_536 : size + 1;
  const chunks: Buffer[] = [];
  let bytes = 0;
  // It may have grown since, so the limit counts what is read.
  while (bytes <= maxBytes) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, null);
    chunks.push(buffer.subarray(0, bytesRead));
    bytes += bytesRead;
    if (bytesRead === 0 || (size > 0 && bytesRead < wanted && bytes >= size)) {
      return chunks.length === 1 ? (chunks[0] ?? nothing) : Buffer.concat(chunks);
    }
  }
  throw tooLarge(path, maxBytes);
}

const nothing = Buffer.alloc(0);

function tooLarge(path: string, maxBytes: number): Error {
  return Object.assign(new Error(`${path} is larger than ${maxBytes} bytes`), { code: 'ERR_TOO_LARGE' });
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : String(error);
}
