/** One request as a test sends it, with everything that its handler was told. A second ending is an error of the test run. */

import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestOptions, ResponseHandler } from '@roundhouse/transport';

export interface Sender {
  dispatch(options: RequestOptions, handler: ResponseHandler): void;
}

export type CallOptions = Partial<RequestOptions> & {
  /** Called in the middle of the handler's callbacks, before the call looks at them itself. */
  readonly on?: Partial<Record<CallEvent, (call: Call) => void>>;
};

export type CallEvent = 'start' | 'head' | 'data' | 'end' | 'error';

type Controller = Parameters<NonNullable<ResponseHandler['onRequestStart']>>[0];

export class Call {
  /** What the handler was told, in order; consecutive data count once. */
  readonly events: CallEvent[] = [];
  readonly chunks: Buffer[] = [];
  status = 0;
  headers: IncomingHttpHeaders = {};
  trailers: IncomingHttpHeaders = {};
  error: Error | undefined;
  /** Resolves when the response's head is there; rejects when the call ended without. */
  readonly head: Promise<void>;
  /** Resolves at the end, good or bad. */
  readonly ended: Promise<void>;
  readonly #head = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #on: NonNullable<CallOptions['on']>;
  #controller: Controller | undefined;

  private constructor(on: NonNullable<CallOptions['on']>) {
    this.#on = on;
    this.head = this.#head.promise;
    this.ended = this.#ended.promise;
    this.head.catch(() => undefined);
  }

  static start(sender: Sender, { on = {}, ...options }: CallOptions = {}): Call {
    const call = new Call(on);
    sender.dispatch({ method: 'GET', path: '/', headers: [], ...options }, call.#handler());
    return call;
  }

  /** The body of a response that ended well. */
  static async text(sender: Sender, options: CallOptions = {}): Promise<string> {
    const call = Call.start(sender, options);
    await call.ended;
    if (call.error !== undefined) {
      throw call.error;
    }
    return call.body;
  }

  /** The code of the error with which the call ended; undefined when it ended well. */
  static async code(sender: Sender, options: CallOptions = {}): Promise<string | undefined> {
    const call = Call.start(sender, options);
    await call.ended;
    return call.code;
  }

  get controller(): Controller {
    assert.ok(this.#controller, 'the request has not started');
    return this.#controller;
  }

  get code(): string | undefined {
    const { error } = this;
    return error !== undefined && 'code' in error ? String(error.code) : error?.message;
  }

  get body(): string {
    return Buffer.concat(this.chunks).toString();
  }

  get bytes(): number {
    return this.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  }

  get settled(): boolean {
    return this.events.includes('end') || this.events.includes('error');
  }

  #tell(event: CallEvent): void {
    assert.ok(!this.settled, `${event} after ${this.events.join(', ')}`);
    if (event !== 'data' || this.events.at(-1) !== 'data') {
      this.events.push(event);
    }
    if (event === 'end' || event === 'error') {
      this.#head.reject(this.error ?? new Error('ended without a head'));
      this.#ended.resolve();
    }
    this.#on[event]?.(this);
  }

  #handler(): ResponseHandler {
    return {
      onRequestStart: (controller) => {
        this.#controller = controller;
        this.#tell('start');
      },
      onResponseStart: (_controller, status, headers) => {
        this.status = status;
        this.headers = headers;
        this.#head.resolve();
        this.#tell('head');
      },
      onResponseData: (_controller, chunk) => {
        this.chunks.push(chunk);
        this.#tell('data');
      },
      onResponseEnd: (_controller, trailers) => {
        this.trailers = trailers;
        this.#tell('end');
      },
      onResponseError: (_controller, error) => {
        this.error = error;
        this.#tell('error');
      },
    };
  }
}
