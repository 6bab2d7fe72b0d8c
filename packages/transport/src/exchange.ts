/**
 * One request on its way: from the call until it is settled, over as many connections as it honestly may use. It owns
 * its timers and its listener on the caller's signal, and it is the controller that the caller's handler gets.
 */

import { Readable } from 'node:stream';
import { util } from 'undici';
import type { Dispatcher } from 'undici';
import type { Clock, Timer } from './clock.ts';
import type { AttemptControls, AttemptSink, ResponseHead } from './connection.ts';
import { TransportError } from './errors.ts';
import { bodyError } from './failure.ts';
import { ReadAhead } from './read-ahead.ts';
import { faultOf } from './request-form.ts';
import type { RequestKind, RequestOptions, ResponseHandler } from './request.ts';

/** Whoever must know that an exchange needs it no longer. */
export interface ExchangeOwner {
  exchangeSettled(exchange: Exchange): void;
}

/** The transport, as the exchange sees it. */
export interface ExchangeCarrier extends ExchangeOwner {
  /** Sends it once more, on a connection on which nothing was sent before. */
  resubmit(exchange: Exchange): void;
}

/** In whose name it is sent: the identity, as the exchange sees it. */
export interface ExchangeParty extends ExchangeOwner {
  /** It must be sent once more. True: that goes elsewhere now, and is done; the former certificate may be refused by now. */
  takesOver(exchange: Exchange): boolean;
}

/** - `waiting`: no connection yet. - `sent`: on a connection. - `responding`: the head has come. - `settled`: over. */
export type ExchangeState = 'waiting' | 'sent' | 'responding' | 'settled';

export interface ExchangeEnvironment {
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
  readonly readAheadBytes: number;
  /** For messages. */
  readonly origin: string;
}

/**
 * Methods that may be sent again although the server may have executed them (RFC 9110, section 9.2.1). PUT and DELETE
 * are idempotent by the letter, but a second DELETE answers 404 to a caller whose first one worked; Go replays only
 * safe methods too.
 */
const replayable: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);
/** A request that was never looked at may be sent again, but a server that always refuses must not loop us. */
const maxAttempts = 3;

export class Exchange implements AttemptSink, Dispatcher.DispatchController {
  readonly options: RequestOptions;
  readonly kind: RequestKind;
  rawHeaders: string[] | null = null;
  rawTrailers: string[] | null = null;
  /** Set by the transport that carries it. */
  carrier: ExchangeCarrier | undefined;
  /** Set by the identity in whose name it is sent. */
  identity: ExchangeParty | undefined;
  /** Set by the transport: bounds the wait for a connection. */
  waitTimer: Timer | undefined;
  readonly #handler: ResponseHandler;
  readonly #environment: ExchangeEnvironment;
  /** Made when the handler first pauses, which few do: until then what comes goes straight to it. */
  #readAhead: ReadAhead | undefined;
  #state: ExchangeState = 'waiting';
  #attempts = 0;
  #reusedConnection = false;
  #needsFreshConnection = false;
  #controls: AttemptControls | undefined;
  #timer: Timer | undefined;
  #silenceTimer: Timer | undefined;
  #lastByteAt = 0;
  #reason: Error | null = null;

  constructor(options: RequestOptions, handler: ResponseHandler, environment: ExchangeEnvironment) {
    this.options = options;
    this.kind = options.kind ?? 'unary';
    this.#handler = handler;
    this.#environment = environment;
  }

  get state(): ExchangeState {
    return this.#state;
  }

  /**
   * Whether only a connection without history will do: the last attempt met a kept-alive one that was dead, and others
   * of its age may be, too. A session that was lost is known to be lost, so over HTTP/2 any that has room will do.
   */
  get needsFreshConnection(): boolean {
    return this.#needsFreshConnection;
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get reason(): Error | null {
    return this.#reason;
  }

  get paused(): boolean {
    return this.#readAhead?.paused ?? false;
  }

  /** Starts the clock and hands the controller out. False when the caller gave up at once. */
  begin(): boolean {
    const { clock, requestTimeoutMs } = this.#environment;
    const { signal, timeoutMs, lifetimeMs } = this.options;
    if (signal?.aborted === true) {
      this.#onSignal();
      return false;
    }
    signal?.addEventListener('abort', this.#onSignal, { once: true });
    if (this.options.body instanceof Readable) {
      this.#watchBody(this.options.body);
    }
    const limitMs = this.kind === 'unary' ? (timeoutMs ?? requestTimeoutMs) : (lifetimeMs ?? 0);
    if (limitMs > 0 && Number.isFinite(limitMs)) {
      this.#timer = clock.setTimeout(() => this.fail(this.#timeoutError(limitMs)), limitMs);
    }
    try {
      this.#handler.onRequestStart?.(this, null);
    } catch (thrown) {
      this.#handlerThrew(thrown);
    }
    const fault = faultOf(this.options);
    if (fault !== undefined) {
      const { origin } = this.#environment;
      this.fail(
        new TransportError('ERR_RH_REQUEST_INVALID', `the request to ${origin} is not valid: ${fault}`),
      );
    }
    return !this.#isSettled();
  }

  /** For the transport, just before it puts the exchange on a connection. */
  assigned(connection: { readonly kept: boolean; readonly protocol: 'http/1.1' | 'h2' }): void {
    this.waitTimer?.cancel();
    this.waitTimer = undefined;
    this.#state = 'sent';
    this.#attempts += 1;
    this.#reusedConnection = connection.kept;
    this.#needsFreshConnection = this.#reusedConnection && connection.protocol === 'http/1.1';
  }

  attach(controls: AttemptControls): void {
    this.#controls = controls;
    if (this.#readAhead?.holdsSource === true) {
      controls.pause();
    }
  }

  responseStarted(head: ResponseHead): void {
    if (this.#state !== 'sent') {
      return;
    }
    this.#state = 'responding';
    this.rawHeaders = head.rawHeaders;
    this.#watchSilence();
    try {
      this.#handler.onResponseStart?.(this, head.statusCode, head.headers, head.statusMessage);
    } catch (thrown) {
      this.#handlerThrew(thrown);
    }
  }

  responseData(chunk: Buffer): void {
    if (this.#state !== 'responding') {
      return;
    }
    this.#watchSilence();
    try {
      if (this.#readAhead === undefined) {
        this.#handler.onResponseData?.(this, chunk);
      } else {
        this.#readAhead.push(chunk);
      }
    } catch (thrown) {
      this.#handlerThrew(thrown);
    }
  }

  responseEnded(rawTrailers: string[]): void {
    if (this.#state !== 'responding') {
      return;
    }
    this.rawTrailers = rawTrailers;
    this.#settle();
    if (this.#readAhead === undefined) {
      this.#tellEnd();
    } else {
      this.#finishReadAhead(this.#readAhead);
    }
  }

  attemptFailed(error: TransportError, untouched: boolean): void {
    this.#controls = undefined;
    if (this.#state === 'settled') {
      return;
    }
    if (this.#mayReplay(error, untouched)) {
      this.#state = 'waiting';
      if (this.identity?.takesOver(this) !== true) {
        this.carrier?.resubmit(this);
      }
      return;
    }
    this.fail(this.#asStale(error));
  }

  /** Ends it with this error, from whatever state. Idempotent. */
  fail(error: Error): void {
    if (this.#isSettled()) {
      return;
    }
    this.#reason ??= error;
    this.#end(error);
  }

  /** The caller's own way out; as with undici, the handler gets the very reason that was given. */
  abort(reason: Error): void {
    if (this.#isSettled()) {
      // The response has come whole, but the caller may not have taken all of it yet.
      if (this.#readAhead?.discard() === true) {
        this.#tellError(reason);
      }
      return;
    }
    this.#reason ??= reason;
    this.#end(reason);
  }

  pause(): void {
    this.#readAhead ??= new ReadAhead(this.#environment.readAheadBytes, {
      data: (chunk) => this.#handler.onResponseData?.(this, chunk),
      end: () => this.#tellEnd(),
      pauseSource: () => this.#controls?.pause(),
      resumeSource: () => this.#resumeSource(),
    });
    this.#readAhead.pause();
  }

  resume(): void {
    try {
      this.#readAhead?.resume();
    } catch (thrown) {
      this.#handlerThrew(thrown);
    }
  }

  #end(error: Error): void {
    const controls = this.#controls;
    this.#settle();
    this.#readAhead?.drop();
    controls?.abort(error);
    this.#tellError(error);
  }

  #tellError(error: Error): void {
    try {
      this.#handler.onResponseError?.(this, error);
    } catch (thrown) {
      reportBug(thrown);
    }
  }

  #tellEnd(): void {
    try {
      this.#handler.onResponseEnd?.(this, util.parseHeaders(this.rawTrailers ?? []));
    } catch (thrown) {
      reportBug(thrown);
    }
  }

  #settle(): void {
    this.#state = 'settled';
    this.#controls = undefined;
    this.#timer?.cancel();
    this.#silenceTimer?.cancel();
    this.waitTimer?.cancel();
    this.options.signal?.removeEventListener('abort', this.#onSignal);
    this.carrier?.exchangeSettled(this);
    this.identity?.exchangeSettled(this);
  }

  #isSettled(): boolean {
    return this.#state === 'settled';
  }

  /**
   * A body that fails while the exchange waits; from when it is sent, its connection looks after it. The listeners stay
   * with the body: an error of it that comes after the end, for instance because we broke it off, is nobody's.
   */
  #watchBody(body: Readable): void {
    const broken = (cause: Error): void => {
      if (this.#state === 'waiting') {
        this.fail(bodyError(this.#environment.origin, cause));
      }
    };
    body.on('error', broken);
    body.once('close', () => broken(new Error('it was closed before its end')));
    if (body.destroyed) {
      broken(body.errored ?? new Error('it was used before'));
    }
  }

  readonly #onSignal = (): void => {
    const cause: unknown = this.options.signal?.reason;
    this.fail(
      new TransportError('ERR_RH_ABORTED', `the request to ${this.#environment.origin} was given up`, {
        cause,
      }),
    );
  };

  #mayReplay(error: TransportError, untouched: boolean): boolean {
    // Whatever else went wrong would go wrong again.
    const { code } = error;
    const isLoss =
      code === 'ERR_RH_CONNECTION_LOST' || code === 'ERR_RH_REFUSED' || code === 'ERR_RH_PROTOCOL_REFUSED';
    if (this.#state === 'responding' || this.#attempts >= maxAttempts || !isLoss) {
      return false;
    }
    const { body, method } = this.options;
    if (body instanceof Readable) {
      return untouched && !body.destroyed && !body.readableDidRead;
    }
    // Once, and only where the reason is the age of the connection: a server that resets every GET is told on. Or where the
    // reason is the protocol, and another one may do.
    const mayHelp = this.#reusedConnection || code === 'ERR_RH_PROTOCOL_REFUSED';
    return untouched || (mayHelp && replayable.has(method));
  }

  #asStale(error: TransportError): TransportError {
    return this.#state === 'sent' && this.#reusedConnection && error.code === 'ERR_RH_CONNECTION_LOST'
      ? new TransportError(
          'ERR_RH_CONNECTION_STALE',
          `a kept-alive connection to ${this.#environment.origin} ended under ${this.options.method}, which may not be sent twice`,
          { cause: error },
        )
      : error;
  }

  #timeoutError(limitMs: number): TransportError {
    const { origin } = this.#environment;
    return this.kind === 'unary'
      ? new TransportError(
          'ERR_RH_REQUEST_TIMEOUT',
          `${origin} did not answer completely within ${limitMs} ms`,
        )
      : new TransportError(
          'ERR_RH_STREAM_SILENT',
          `a stream from ${origin} outlived its bound of ${limitMs} ms`,
        );
  }

  /** One timer for the whole stream: it looks at when the last byte came instead of being set anew with each. */
  #watchSilence(): void {
    const { silenceTimeoutMs = 0 } = this.options;
    if (this.kind !== 'stream' || silenceTimeoutMs <= 0) {
      return;
    }
    const { clock, origin } = this.#environment;
    this.#lastByteAt = clock.now();
    const wait = (ms: number): Timer =>
      clock.setTimeout(() => {
        // While nobody reads, silence says nothing about the server.
        const quietMs = this.paused ? 0 : clock.now() - this.#lastByteAt;
        if (quietMs < silenceTimeoutMs) {
          this.#silenceTimer = wait(silenceTimeoutMs - quietMs);
          return;
        }
        this.fail(
          new TransportError(
            'ERR_RH_STREAM_SILENT',
            `no byte came from ${origin} for ${silenceTimeoutMs} ms`,
          ),
        );
      }, ms);
    this.#silenceTimer ??= wait(silenceTimeoutMs);
  }

  #resumeSource(): void {
    this.#watchSilence();
    this.#controls?.resume();
  }

  #finishReadAhead(readAhead: ReadAhead): void {
    try {
      readAhead.finish();
    } catch (thrown) {
      this.#handlerThrew(thrown);
    }
  }

  /** A handler that throws has failed its own exchange, and nothing else. */
  #handlerThrew(thrown: unknown): void {
    this.abort(thrown instanceof Error ? thrown : new Error(String(thrown)));
  }
}

/** What a handler throws when it is told the end has no other way out; it must not go through our own bookkeeping. */
function reportBug(thrown: unknown): void {
  queueMicrotask(() => {
    throw thrown;
  });
}
