/** One answer. All rooms write through here, so that a fault can cut any answer at any byte. */
import { STATUS_CODES } from 'node:http';
import type { Exchange as WireExchange } from '../exchange.ts';
import type { StreamEnding } from '../streams/server/stream-ending.ts';
import { SocketConnection } from '../streams/socket-connection.ts';
import type { Moment } from './faults.ts';
import type { JsonObject } from './json.ts';

export type Headers = Readonly<Record<string, string>>;

/** Where a fault cuts this answer, and what happens then. Afterwards nothing more is sent. */
export interface Cut {
  readonly when: Exclude<Moment, 'before-headers'>;
  readonly afterBytes: number;
  strike(): void;
}

/** What a fault changes in a switch of protocols. */
export interface SwitchFault {
  /** Of the 101, by name; undefined leaves one out. */
  readonly fields: Readonly<Record<string, string | undefined>>;
  /** In one write with the 101. */
  readonly early: string | Uint8Array;
  readonly ending: StreamEnding;
}

export class Reply {
  readonly #wire: WireExchange;
  #switchFault: SwitchFault = { fields: {}, early: '', ending: 'complete' };
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

  spoilSwitch(fault: SwitchFault): void {
    this.#switchFault = fault;
  }

  /** How a stream that is switched to is to end. */
  get streamEnding(): StreamEnding {
    return this.#switchFault.ending;
  }

  /** A 101 with these fields; then both directions are the caller's. Undefined when the client is gone, or cannot switch. */
  switchProtocols(fields: Headers): SocketConnection | undefined {
    const { upgrade } = this.#wire;
    if (upgrade === undefined || this.closed.aborted) return undefined;
    this.#begun = true;
    const lines = Object.entries({ ...fields, ...this.#extraHeaders, ...this.#switchFault.fields }).flatMap(
      ([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]),
    );
    const head = [`HTTP/1.1 101 ${STATUS_CODES[101]}`, ...lines, '', ''].join('\r\n');
    const socket = upgrade.switchProtocols(head, this.#switchFault.early);
    if (socket === undefined) return undefined;
    const connection = new SocketConnection(socket, upgrade.early);
    const cut = this.#cut;
    if (cut !== undefined) {
      const strike = (): void => {
        cut.strike();
        connection.freeze();
      };
      if (cut.when === 'after-headers') strike();
      else connection.cutAt(cut.afterBytes, strike);
    }
    return connection;
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
