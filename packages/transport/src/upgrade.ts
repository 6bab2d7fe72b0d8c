/**
 * One request that asks to go on in another protocol (RFC 9110, section 7.8), from the call until its connection has
 * closed. It gets a connection of its own, on which nothing was sent before and nothing is sent after. Until the server
 * has agreed to what was asked, no byte passes; from then on the socket is the caller's, and this class only sees to it
 * that the bounds and the ends of its owners reach it.
 */

import type { IncomingHttpHeaders } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket } from 'node:tls';
import type { Clock, Timer } from './clock.ts';
import type { Endpoint } from './endpoint.ts';
import { RoundhouseError, TransportError } from './errors.ts';
import { faultOf } from './request-form.ts';
import type { DialedSocket } from './secure-dial.ts';
import { askUpgrade } from './upgrade-handshake.ts';
import type { HandshakeAnswer } from './upgrade-handshake.ts';

export interface UpgradeOptions {
  readonly method: string;
  /** Origin form; goes onto the wire byte for byte. */
  readonly path: string;
  /** What is asked for: one item of an `Upgrade` field, for instance `websocket` or `SPDY/3.1`; sent as it is spelled. */
  readonly protocol: string;
  /**
   * Name, value, ... in wire order; repeated fields stay repeated. Without `Connection` and `Upgrade`, which are written here. For
   * `websocket` they must have a `Sec-WebSocket-Key`.
   */
  readonly headers: readonly string[];
  /** From the call until the server has answered, whatever it answers. 0: no limit. Default: the pool's `requestTimeoutMs`. */
  readonly timeoutMs?: number | undefined;
  /** Gives it up while it is not answered; a connection that was switched has ends of its own. */
  readonly signal?: AbortSignal | undefined;
}

export type UpgradeAnswer = SwitchedAnswer | OrdinaryAnswer;

/** The server goes on in the protocol that was asked for. */
export interface SwitchedAnswer {
  readonly switched: true;
  /** Name, value, ... as they came. */
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
  /**
   * The caller's to end. Half-open: the server's end leaves our side open. What came right behind the answer is in it, and it is
   * paused. When its identity, transport or pool ends it, it is destroyed with a `TransportError`.
   */
  readonly socket: Duplex;
  /** Ends it in a way that the server does not take for a good end: with RST where there is TCP under it. */
  reset(): void;
  /**
   * Finds out whether the server has sent RST, which nobody notices of a socket that is paused and has nothing to send: then it
   * closes with that error. Nothing is sent for it.
   */
  look(): void;
}

/** Any other answer. Its connection is closed, or about to be: nothing more is sent on it or read from it. */
export interface OrdinaryAnswer {
  readonly switched: false;
  readonly statusCode: number;
  readonly rawHeaders: readonly string[];
  readonly headers: IncomingHttpHeaders;
  /** At most `maxOrdinaryBodyBytes` of it. */
  readonly body: Buffer;
  /** Whether that is all of it. */
  readonly complete: boolean;
}

/** Whoever must know that an upgrade needs it no longer. */
export interface UpgradeOwner {
  upgradeEnded(upgrade: Upgrade): void;
}

export interface UpgradeEnvironment {
  readonly clock: Clock;
  readonly requestTimeoutMs: number;
  /** For messages. */
  readonly origin: string;
}

const nothing = Buffer.alloc(0);

/**
 * - `waiting`: no transport has it yet. - `asking`: no answer yet. - `switched`: the socket is the caller's. - `ended`: there is no
 * socket any more.
 */
export type UpgradeState = 'waiting' | 'asking' | 'switched' | 'ended';

export class Upgrade {
  readonly options: UpgradeOptions;
  /** Told when it has ended: the identity, the transport, the pool. */
  readonly owners = new Set<UpgradeOwner>();
  readonly #environment: UpgradeEnvironment;
  readonly #answer = Promise.withResolvers<UpgradeAnswer>();
  /** Aborted when there is no use for an answer any more. */
  readonly #asking = new AbortController();
  #state: UpgradeState = 'waiting';
  #dialed: DialedSocket | undefined;
  #timer: Timer | undefined;

  constructor(options: UpgradeOptions, environment: UpgradeEnvironment) {
    this.options = options;
    this.#environment = environment;
  }

  get state(): UpgradeState {
    return this.#state;
  }

  /** Rejects with a `RoundhouseError`. */
  get answer(): Promise<UpgradeAnswer> {
    return this.#answer.promise;
  }

  /** Starts the clock. False when it is over already. */
  begin(): boolean {
    const { clock, origin, requestTimeoutMs } = this.#environment;
    const { signal, timeoutMs = requestTimeoutMs } = this.options;
    if (signal?.aborted === true) {
      this.#onSignal();
      return false;
    }
    signal?.addEventListener('abort', this.#onSignal, { once: true });
    if (timeoutMs > 0 && Number.isFinite(timeoutMs)) {
      this.#timer = clock.setTimeout(
        () =>
          this.fail(
            new TransportError(
              'ERR_RH_REQUEST_TIMEOUT',
              `${origin} did not answer the request for ${this.options.protocol} within ${timeoutMs} ms`,
            ),
          ),
        timeoutMs,
      );
    }
    const fault = faultOfUpgrade(this.options);
    if (fault !== undefined) {
      this.fail(
        new TransportError('ERR_RH_REQUEST_INVALID', `the request to ${origin} is not valid: ${fault}`),
      );
    }
    return this.#state !== 'ended';
  }

  /** Asks over a connection that `dial` opens. Never rejects: `answer` does. */
  async ask(endpoint: Endpoint, dial: (signal: AbortSignal) => Promise<DialedSocket>): Promise<void> {
    const { signal } = this.#asking;
    if (this.#state === 'waiting') {
      this.#state = 'asking';
    }
    try {
      this.#dialed = await dial(signal);
      const { socket } = this.#dialed;
      if (signal.aborted || socket.destroyed) {
        socket.destroy();
        throw new TransportError(
          'ERR_RH_CONNECTION_LOST',
          `the connection to ${endpoint.origin} ended as soon as it was made`,
        );
      }
      const answer = await askUpgrade(socket, endpoint, this.options, signal);
      this.#answered(answer);
    } catch (error) {
      this.fail(error instanceof Error ? error : new Error(String(error)));
    }
  }

  /** Ends it with this error, from whatever state; a socket that is the caller's is destroyed with it. Idempotent. */
  fail(error: Error): void {
    if (this.#state === 'ended') {
      return;
    }
    if (this.#state === 'switched') {
      this.#dialed?.socket.destroy(error);
      return;
    }
    this.#answer.reject(
      RoundhouseError.is(error)
        ? error
        : new TransportError('ERR_RH_CONNECTION_LOST', error.message, { cause: error }),
    );
    this.#end();
  }

  #answered(answer: HandshakeAnswer): void {
    if (this.#state !== 'asking') {
      return;
    }
    if (!answer.switched) {
      this.#answer.resolve(answer);
      this.#end();
      return;
    }
    this.#state = 'switched';
    this.#stopWaiting();
    answer.socket.once('close', () => this.#end());
    this.#answer.resolve({ ...answer, reset: () => this.#reset(), look: () => this.#look() });
  }

  #end(): void {
    if (this.#state === 'ended') {
      return;
    }
    this.#state = 'ended';
    this.#stopWaiting();
    this.#asking.abort(new TransportError('ERR_RH_ABORTED', 'nobody waits for the answer any more'));
    this.#dialed?.socket.destroy();
    this.#dialed = undefined;
    for (const owner of this.owners) {
      owner.upgradeEnded(this);
    }
  }

  #reset(): void {
    const { socket, bare } = this.#dialed ?? {};
    // After a FIN the operating system sends no RST for us, and Node.js would lose the descriptor over the attempt.
    if (socket?.writableEnded === false && isTcp(bare) && !bare.destroyed) {
      bare.resetAndDestroy();
    }
    socket?.destroy();
  }

  #look(): void {
    const { socket, bare } = this.#dialed ?? {};
    if (socket?.writableEnded === false && socket.writableLength === 0 && isTcp(bare) && !bare.destroyed) {
      // Nothing goes out, but the operating system says whether anything could.
      bare.write(nothing);
    }
  }

  #stopWaiting(): void {
    this.#timer?.cancel();
    this.options.signal?.removeEventListener('abort', this.#onSignal);
  }

  readonly #onSignal = (): void => {
    const cause: unknown = this.options.signal?.reason;
    this.fail(
      new TransportError('ERR_RH_ABORTED', `the request to ${this.#environment.origin} was given up`, {
        cause,
      }),
    );
  };
}

/** Not TLS, which knows no RST and takes no second writer. */
function isTcp(bare: Duplex | undefined): bare is Socket {
  return bare instanceof Socket && !(bare instanceof TLSSocket);
}

/** One item of an `Upgrade` field: a token, and perhaps a version (RFC 9110, section 7.8). */
const protocolItem = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:\/[!#$%&'*+.^_`|~0-9A-Za-z-]+)?$/;
/** Written by us, or at odds with a request without a body. */
const ours: ReadonlySet<string> = new Set(['connection', 'upgrade', 'transfer-encoding', 'expect']);

function faultOfUpgrade(options: UpgradeOptions): string | undefined {
  const { headers, protocol } = options;
  if (!protocolItem.test(protocol)) {
    return 'the protocol to upgrade to is not one item of an Upgrade field';
  }
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index]?.toLowerCase() ?? '';
    if (ours.has(name) || (name === 'content-length' && headers[index + 1] !== '0')) {
      return `a request for an upgrade has no field ${name} of its own`;
    }
  }
  return faultOf(options);
}
