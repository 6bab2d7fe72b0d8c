/**
 * Between a connection and a reader that may be slower: keeps up to a bound of what came while the reader was paused.
 * A small body thus leaves its connection free although nobody ever reads it.
 */

export interface ReadAheadPorts {
  data(chunk: Buffer): void;
  end(): void;
  pauseSource(): void;
  resumeSource(): void;
}

export class ReadAhead {
  readonly #maxBytes: number;
  readonly #ports: ReadAheadPorts;
  #chunks: Buffer[] = [];
  #bytes = 0;
  #paused = false;
  #sourcePaused = false;
  #finished = false;
  #flushing = false;

  constructor(maxBytes: number, ports: ReadAheadPorts) {
    this.#maxBytes = maxBytes;
    this.#ports = ports;
  }

  get paused(): boolean {
    return this.#paused;
  }

  /** Whether the source is to wait; a source that comes later (the exchange waited, or is sent again) has to ask. */
  get holdsSource(): boolean {
    return this.#sourcePaused;
  }

  push(chunk: Buffer): void {
    if (!this.#paused && this.#chunks.length === 0) {
      this.#ports.data(chunk);
      return;
    }
    this.#chunks.push(chunk);
    this.#bytes += chunk.length;
    this.#holdSource();
  }

  pause(): void {
    this.#paused = true;
    this.#holdSource();
  }

  resume(): void {
    this.#paused = false;
    this.#flush();
  }

  /** The source has given all; the end is told once the reader has taken it. */
  finish(): void {
    this.#finished = true;
    this.#flush();
  }

  /** Forgets what is kept. */
  drop(): void {
    this.#chunks = [];
    this.#bytes = 0;
    this.#finished = false;
  }

  /** Forgets what is kept; true if the reader has not had the end yet. */
  discard(): boolean {
    const finished = this.#finished;
    this.drop();
    return finished;
  }

  #holdSource(): void {
    if (!this.#sourcePaused && !this.#finished && this.#bytes >= this.#maxBytes) {
      this.#sourcePaused = true;
      this.#ports.pauseSource();
    }
  }

  #flush(): void {
    if (this.#flushing) {
      return;
    }
    this.#flushing = true;
    try {
      let taken = 0;
      while (!this.#paused && taken < this.#chunks.length) {
        const chunk = this.#chunks[taken];
        taken += 1;
        if (chunk !== undefined) {
          this.#bytes -= chunk.length;
          this.#ports.data(chunk);
        }
      }
      this.#chunks = this.#chunks.slice(taken);
    } finally {
      this.#flushing = false;
    }
    if (this.#paused || this.#chunks.length > 0) {
      return;
    }
    if (this.#finished) {
      this.#finished = false;
      this.#ports.end();
    } else if (this.#sourcePaused) {
      this.#sourcePaused = false;
      this.#ports.resumeSource();
    }
  }
}
