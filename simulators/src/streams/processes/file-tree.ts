/** The files of one container, in memory and bounded. */

export interface FileEntry {
  readonly kind: 'file' | 'directory';
  readonly content: Buffer;
  readonly mode: number;
  /** Seconds since the epoch. */
  readonly modifiedAt: number;
}

/** With the words of the system call. */
export class FileError extends Error {
  constructor(path: string, problem: string) {
    super(`${path}: ${problem}`);
    this.name = 'FileError';
  }
}

export class FileTree {
  readonly #maxBytes: number;
  readonly #entries = new Map<string, FileEntry>([['/', directory]]);
  #bytes = 0;

  /** `maxBytes`: of all files together. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
    for (const path of ['/tmp', '/etc', '/root']) this.#entries.set(path, directory);
  }

  get(path: string): FileEntry | undefined {
    return this.#entries.get(normalized(path));
  }

  read(path: string): Buffer {
    const entry = this.get(path);
    if (entry === undefined) throw new FileError(path, 'No such file or directory');
    if (entry.kind === 'directory') throw new FileError(path, 'Is a directory');
    return entry.content;
  }

  /** Throws unless there is room for so many bytes more. */
  reserve(path: string, bytes: number): void {
    if (this.#bytes + bytes > this.#maxBytes) throw new FileError(path, 'No space left on device');
  }

  /** Makes the file or replaces it. */
  write(
    path: string,
    content: Buffer,
    { mode = 0o644, modifiedAt = 0 }: Partial<Pick<FileEntry, 'mode' | 'modifiedAt'>> = {},
  ): void {
    const at = normalized(path);
    const present = this.#entries.get(at);
    if (present?.kind === 'directory') throw new FileError(path, 'Is a directory');
    if (this.#entries.get(parentOf(at))?.kind !== 'directory')
      throw new FileError(path, 'No such file or directory');
    const more = content.length - (present?.content.length ?? 0);
    this.reserve(path, more);
    this.#bytes += more;
    this.#entries.set(at, { kind: 'file', content, mode, modifiedAt });
  }

  /** With its parents. */
  makeDirectory(path: string): void {
    const at = normalized(path);
    const present = this.#entries.get(at);
    if (present?.kind === 'file') throw new FileError(path, 'File exists');
    if (present !== undefined) return;
    this.makeDirectory(parentOf(at));
    this.#entries.set(at, directory);
  }

  /** With everything in it. */
  remove(path: string): void {
    const at = normalized(path);
    for (const [each, entry] of this.#entries) {
      if (each !== at && !each.startsWith(`${at}/`)) continue;
      this.#bytes -= entry.content.length;
      this.#entries.delete(each);
    }
  }

  /** Names in that directory, sorted. */
  list(path: string): readonly string[] {
    const at = normalized(path);
    const prefix = at === '/' ? '/' : `${at}/`;
    return [...this.#entries.keys()]
      .filter((each) => each !== '/' && each.startsWith(prefix) && !each.slice(prefix.length).includes('/'))
      .map((each) => each.slice(prefix.length))
      .toSorted();
  }
}

const directory: FileEntry = { kind: 'directory', content: Buffer.alloc(0), mode: 0o755, modifiedAt: 0 };

/** Absolute, without `.`, `..` and doubled slashes. */
export function resolvePath(directoryPath: string, path: string): string {
  return normalized(path.startsWith('/') ? path : `${directoryPath}/${path}`);
}

function normalized(path: string): string {
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/')) || '/';
}
