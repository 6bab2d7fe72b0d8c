/** Where audit lines end up: a file that is only ever appended to, or stdout. */

import { constants } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';

export interface AuditSink {
  /** A write failed after a part of it was taken. */
  readonly midway: boolean;
  /** Resolves when all of it has been taken. */
  write(bytes: Buffer): Promise<void>;
  /** Whether lines would go where nobody looks for them any more: the file was rotated away. */
  isStale(): Promise<boolean>;
  close(): Promise<void>;
}

/** @param path of a file, made when it is not there; `-` is stdout */
export function openAuditSink(path: string): Promise<AuditSink> {
  return path === '-' ? Promise.resolve(new StdoutSink()) : FileSink.open(path);
}

class FileSink implements AuditSink {
  readonly #path: string;
  readonly #file: FileHandle;
  /** Of a piece that was taken in part when an error came: so much of it must not be written twice. */
  #taken = 0;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  static async open(path: string): Promise<FileSink> {
    // Who did what is not for everybody.
    const file = await open(path, constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY, 0o600);
    return new FileSink(path, file);
  }

  get midway(): boolean {
    return this.#taken > 0;
  }

  async write(bytes: Buffer): Promise<void> {
    while (this.#taken < bytes.length) {
      const { bytesWritten } = await this.#file.write(bytes, this.#taken);
      this.#taken += bytesWritten;
    }
    this.#taken = 0;
  }

  async isStale(): Promise<boolean> {
    const [there, ours] = await Promise.all([stat(this.#path).catch(() => undefined), this.#file.stat()]);
    return there?.ino !== ours.ino || there.dev !== ours.dev;
  }

  async close(): Promise<void> {
    await this.#file.close();
  }
}

class StdoutSink implements AuditSink {
  readonly midway = false;

  async write(bytes: Buffer): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    process.stdout.write(bytes, (error) => (error ? reject(error) : resolve()));
    await promise;
  }

  isStale(): Promise<boolean> {
    return Promise.resolve(false);
  }

  async close(): Promise<void> {}
}
