/** One answer. All rooms write through here, so that a fault can cut any answer at any byte. */
import type { Exchange as WireExchange } from '../exchange.ts';
import type { Moment } from './faults.ts';
import type { JsonObject } from './json.ts';

export type Headers = Readonly<Record<string, string>>;

/** Where a fault cuts this answer, and what happens then. Afterwards nothing more is sent. */
export interface Cut {
  readonly when: Exclude<Moment, 'before-headers'>;
  readonly afterBytes: number;
  strike(): void;
}

export class Reply {
  readonly #wire: WireExchange;
  #cut: Cut | undefined;
  #struck = false;
  #begun = false;
  #bodyBytes = 0;
  #extraHeaders: Headers = {};

  constructor(wire: WireExchange) {
    this.#wire = wire;
  }

  /** Aborted when the client is gone before the answer is complete. */
  get closed(): AbortSignal {
    return this.#wire.signal;
  }

  /** Whether a status has been sent. */
  get begun(): boolean {
    return this.#begun;
  }

  cutAt(cut: Cut): void {
    this.#cut = cut;
  }

  /** Goes with whatever is answered. */
  addHeaders(headers: Headers): void {
    this.#extraHeaders = { ...this.#extraHeaders, ...headers };
  }

  async begin(status: number, headers: Headers): Promise<void> {
    this.#begun = true;
    await this.#wire.writeHead(status, { ...headers, ...this.#extraHeaders });
    if (this.#cut?.when === 'after-headers') this.#strike(this.#cut);
  }

  /** Resolves when the operating system has it: a client that does not read holds its writer up. */
  async write(chunk: string | Uint8Array): Promise<void> {
    if (this.#struck || this.closed.aborted) return;
    if (this.#cut?.when !== 'mid-body') return this.#wire.write(chunk);
    const bytes = Buffer.from(chunk);
    const room = this.#cut.afterBytes - this.#bodyBytes;
    this.#bodyBytes += bytes.length;
    await this.#wire.write(bytes.subarray(0, room));
    if (bytes.length >= room) this.#strike(this.#cut);
  }

  async end(): Promise<void> {
    if (!this.#struck) await this.#wire.end();
  }

  /** A whole answer. */
  async send(
    status: number,
    contentType: string,
    body: string | Uint8Array,
    headers: Headers = {},
  ): Promise<void> {
    const bytes = Buffer.from(body);
    const head = {
      'Content-Type': contentType,
      'Content-Length': String(bytes.length),
      'Cache-Control': 'no-cache, private',
      ...headers,
    };
    if (this.#cut === undefined) {
      this.#begun = true;
      return this.#wire.respond({ status, headers: { ...head, ...this.#extraHeaders }, body: bytes });
    }
    await this.begin(status, head);
    await this.write(bytes);
    await this.end();
  }

  async json(status: number, value: JsonObject, headers: Headers = {}): Promise<void> {
    return this.send(status, 'application/json', `${JSON.stringify(value)}\n`, headers);
  }

  #strike(cut: Cut): void {
    this.#struck = true;
    cut.strike();
  }
}
