/**
 * The audit log: lines in, a file out, and a bounded buffer between them, so that a slow disk costs no request its time. What
 * does not fit is counted and told; whether requests go on without their line is for who runs the gateway to say.
 */

import { ProcessError } from '@roundhouse/process';
import type { Logger } from '@roundhouse/process';
import { openAuditSink } from './audit-sink.ts';
import type { AuditSink } from './audit-sink.ts';

export interface AuditLogOptions {
  /** A file, or `-` for stdout. */
  readonly path: string;
  /** Lines that wait, in bytes. */
  readonly maxBufferBytes: number;
  /** Refuse requests while lines would be lost. */
  readonly required: boolean;
  readonly log: Logger;
  /** For tests. */
  readonly open?: ((path: string) => Promise<AuditSink>) | undefined;
}

export interface AuditNumbers {
  readonly written: number;
  readonly dropped: number;
  readonly writeErrors: number;
  readonly bufferedBytes: number;
}

const maxPieceBytes = 262_144;
/** Between two looks whether the file is still the one of its name. */
const staleCheckMs = 500;
const retryMs = 1_000;
const flushTimeoutMs = 5_000;

export class AuditLog implements AsyncDisposable {
  readonly #options: AuditLogOptions;
  #sink: AuditSink;
  /** Lines that wait; bounded by `maxBufferBytes`. */
  readonly #lines: Buffer[] = [];
  /** Being written, and how many lines it has. Kept until all of it is. */
  #piece: { readonly bytes: Buffer; readonly lines: number } | undefined;
  #waitingBytes = 0;
  #writing: Promise<void> | undefined;
  #retry: NodeJS.Timeout | undefined;
  #checkedAt = performance.now();
  #reopenWanted = false;
  #failing = false;
  #full = false;
  #closed = false;
  #written = 0;
  #dropped = 0;
  #writeErrors = 0;

  private constructor(options: AuditLogOptions, sink: AuditSink) {
    this.#options = options;
    this.#sink = sink;
  }

  /** @throws ERR_RH_FILE_UNUSABLE */
  static async open(options: AuditLogOptions): Promise<AuditLog> {
    try {
      return new AuditLog(options, await (options.open ?? openAuditSink)(options.path));
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new ProcessError(
        'ERR_RH_FILE_UNUSABLE',
        `cannot write the audit log ${options.path}: ${reason}`,
        { cause },
      );
    }
  }

  /** Why a request must not be served now, where its line is required; undefined when it may. */
  get refusal(): string | undefined {
    if (!this.#options.required) {
      return undefined;
    }
    return this.#failing || this.#full ? 'the audit log cannot be written' : undefined;
  }

  get numbers(): AuditNumbers {
    return {
      written: this.#written,
      dropped: this.#dropped,
      writeErrors: this.#writeErrors,
      bufferedBytes: this.#bufferedBytes,
    };
  }

  write(record: Readonly<Record<string, unknown>>): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    if (this.#closed || this.#bufferedBytes + line.length > this.#options.maxBufferBytes) {
      this.#dropped += 1;
      this.#tellFull();
      return;
    }
    this.#lines.push(line);
    this.#waitingBytes += line.length;
    if (this.#retry === undefined) {
      this.#writing ??= this.#drain();
    }
  }

  /** The next line goes to the file that has the name then. */
  reopen(): void {
    this.#reopenWanted = true;
    this.#writing ??= this.#drain();
  }

  /** Writes what waits, as far as that works within 5 s. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#retry);
    const limit = Promise.withResolvers<void>();
    const timer = setTimeout(limit.resolve, flushTimeoutMs);
    await Promise.race([this.#writing ?? this.#drain(), limit.promise]);
    clearTimeout(timer);
    clearTimeout(this.#retry);
    if (this.#lines.length > 0 || this.#piece !== undefined) {
      this.#options.log.error({ bytes: this.#bufferedBytes }, 'audit lines are lost');
    }
    await this.#sink.close().catch(() => undefined);
  }

  get #bufferedBytes(): number {
    return this.#waitingBytes + (this.#piece?.bytes.length ?? 0);
  }

  /** Never rejects; ends when nothing waits, or with a date for the next try. */
  async #drain(): Promise<void> {
    // In a turn of its own, so that the lines of one turn leave together.
    await new Promise((resolve) => setImmediate(resolve));
    this.#retry = undefined;
    try {
      while (this.#lines.length > 0 || this.#piece !== undefined || this.#reopenWanted) {
        await this.#reopenWhereNeeded();
        this.#piece ??= this.#takePiece();
        await this.#sink.write(this.#piece.bytes);
        this.#written += this.#piece.lines;
        this.#piece = undefined;
        this.#recovered();
      }
      this.#writing = undefined;
    } catch (error) {
      this.#failed(error);
      this.#writing = undefined;
      if (!this.#closed) {
        this.#retry = setTimeout(() => {
          this.#writing ??= this.#drain();
        }, retryMs);
        this.#retry.unref();
      }
    }
  }

  async #reopenWhereNeeded(): Promise<void> {
    const due = performance.now() - this.#checkedAt >= staleCheckMs;
    if (due) {
      this.#checkedAt = performance.now();
    }
    // A piece that was begun ends where it began, since half a line in each file would be none; unless somebody says so, when
    // the old file may be beyond writing: then it is in the new one as a whole.
    if (this.#reopenWanted || (due && !this.#sink.midway && (await this.#sink.isStale()))) {
      const { open = openAuditSink, path, log } = this.#options;
      const next = await open(path);
      const last = this.#sink;
      this.#sink = next;
      this.#reopenWanted = false;
      log.info({ path }, 'audit log reopened');
      await last.close().catch(() => undefined);
    }
  }

  #takePiece(): { bytes: Buffer; lines: number } {
    let bytes = 0;
    let count = 0;
    while (count < this.#lines.length && bytes < maxPieceBytes) {
      bytes += this.#lines[count]?.length ?? 0;
      count += 1;
    }
    const taken = this.#lines.splice(0, count);
    this.#waitingBytes -= bytes;
    return { bytes: Buffer.concat(taken), lines: count };
  }

  #failed(error: unknown): void {
    this.#writeErrors += 1;
    if (!this.#failing) {
      this.#failing = true;
      const reason = error instanceof Error ? error.message : String(error);
      this.#options.log.error({ path: this.#options.path, reason }, 'the audit log cannot be written');
    }
  }

  #tellFull(): void {
    if (!this.#full) {
      this.#full = true;
      this.#options.log.error(
        { path: this.#options.path, maxBufferBytes: this.#options.maxBufferBytes },
        'the buffer of the audit log is full, lines are lost',
      );
    }
  }

  #recovered(): void {
    if (this.#failing || this.#full) {
      this.#failing = false;
      this.#full = false;
      this.#options.log.info(
        { path: this.#options.path, dropped: this.#dropped },
        'the audit log is written again',
      );
    }
  }
}
