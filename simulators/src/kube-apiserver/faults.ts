/** Faults on command: what a test orders for the requests that it picks, before the server would answer them. */
import type { RecordedRequest } from '../recorded-request.ts';
import type { StreamEnding } from '../streams/server/stream-ending.ts';
import type { JsonObject } from './json.ts';

/**
 * Where in a response a fault strikes. `mid-body`: after `afterBytes` bytes of the body that would have been sent (default 1). The body of
 * a 101 is what is sent in the other protocol.
 */
export type Moment = 'before-headers' | 'after-headers' | 'mid-body';

export type Fault =
  /** This answer instead of the right one. `body` is a `Status` that fits the code unless given. */
  | {
      readonly kind: 'status';
      readonly code: number;
      readonly body?: JsonObject | string;
      readonly headers?: Readonly<Record<string, string>>;
      /** How the end of the body is told: by its length (default), by chunks, or, with `endless`, by chunks of which the last never comes. */
      readonly framing?: 'length' | 'chunked' | 'endless';
    }
  /** The right answer, later: after so many milliseconds, or when the promise settles. */
  | { readonly kind: 'delay'; readonly until: number | Promise<unknown> }
  /** The connection dies: by RST (default) or by FIN; or only the HTTP/2 stream, by RST_STREAM. */
  | {
      readonly kind: 'reset';
      readonly when: Moment;
      readonly afterBytes?: number;
      readonly by?: 'rst' | 'fin' | 'stream';
    }
  /** Nothing more is sent, and the connection stays open. */
  | { readonly kind: 'silence'; readonly when?: Moment; readonly afterBytes?: number }
  /** A request to switch protocols is granted, but not as it should be. */
  | {
      readonly kind: 'switch';
      /** Of the 101, by name, over the right ones; undefined leaves one out. */
      readonly fields?: Readonly<Record<string, string | undefined>>;
      /** Bytes in one write with the 101, before any of the stream. */
      readonly early?: string | Uint8Array;
      /** Default: `complete`. */
      readonly ending?: StreamEnding;
    }
  /** HTTP/2: GOAWAY, and this request is answered, or, with `refuse`, declared not processed. HTTP/1.1: `Connection: close`. */
  | { readonly kind: 'goaway'; readonly refuse?: boolean };

export interface FaultRule {
  readonly match: (request: RecordedRequest) => boolean;
  /** How many requests it strikes; default: every one until it is removed. */
  readonly times?: number;
  readonly fault: Fault;
}

/** A rule at work. Disposing of it removes the rule. */
export interface ActiveFault extends Disposable {
  /** How many requests it struck. */
  readonly hits: number;
  remove(): void;
}

export class Faults {
  readonly #active = new Set<Rule>();

  add(rule: FaultRule): ActiveFault {
    const active = new Rule(rule, () => this.#active.delete(active));
    this.#active.add(active);
    return active;
  }

  clear(): void {
    this.#active.clear();
  }

  /** The fault of the first rule that matches; counts it. */
  take(request: RecordedRequest): Fault | undefined {
    for (const rule of this.#active) {
      if (rule.strikes(request)) return rule.fault;
    }
    return undefined;
  }
}

class Rule implements ActiveFault {
  readonly #rule: FaultRule;
  readonly #forget: () => void;
  #hits = 0;

  constructor(rule: FaultRule, forget: () => void) {
    this.#rule = rule;
    this.#forget = forget;
  }

  get hits(): number {
    return this.#hits;
  }

  get fault(): Fault {
    return this.#rule.fault;
  }

  strikes(request: RecordedRequest): boolean {
    if (!this.#rule.match(request)) return false;
    this.#hits += 1;
    if (this.#hits >= (this.#rule.times ?? Number.POSITIVE_INFINITY)) this.remove();
    return true;
  }

  remove(): void {
    this.#forget();
  }

  [Symbol.dispose](): void {
    this.remove();
  }
}
