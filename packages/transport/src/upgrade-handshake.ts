/**
 * The question and the answer of an upgrade on a connection that was opened for it. undici writes and parses, as on every
 * other HTTP/1.1 connection; when the server has switched, it lets go of the socket.
 */

import { Client } from 'undici';
import type { Dispatcher } from 'undici';
import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';
import { failureOf } from './failure.ts';
import { rawFields, withHost } from './http1-fields.ts';
import { faultOfSwitch } from './switched-protocol.ts';
import type { OrdinaryAnswer, SwitchedAnswer, UpgradeOptions } from './upgrade.ts';

export type HandshakeAnswer = Omit<SwitchedAnswer, 'reset' | 'look'> | OrdinaryAnswer;

/** Of an answer that refuses the upgrade: enough for a `Status` or a page, and nothing that a server could fill memory with. */
const maxOrdinaryBodyBytes = 65_536;

/**
 * The socket is destroyed unless the answer has switched.
 *
 * @param signal destroys the socket
 * @throws ERR_RH_UPGRADE_INVALID, ERR_RH_CONNECTION_LOST, ERR_RH_RESPONSE_INVALID, or what `signal` was aborted with
 */
export async function askUpgrade(
  socket: Duplex,
  endpoint: Endpoint,
  options: UpgradeOptions,
  signal: AbortSignal,
): Promise<HandshakeAnswer> {
  // Before the server can end its side: that must not end ours.
  socket.allowHalfOpen = true;
  const client = clientOn(socket, endpoint);
  const handshake = new Handshake(endpoint, options);
  const giveUp = (): void => {
    handshake.fail(signal.reason);
    socket.destroy();
  };
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    const { method, path, headers, protocol } = options;
    client.dispatch(
      { method, path, headers: withHost(headers, endpoint.authority), upgrade: protocol },
      handshake,
    );
    const answer = await handshake.answer;
    if (!answer.switched) {
      socket.destroy();
    }
    return answer;
  } catch (error) {
    socket.destroy();
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
    // It has no socket any more and gets no other.
    client.destroy().catch(() => undefined);
  }
}

/** @param socket the one that undici gets, once */
function clientOn(socket: Duplex, { authority }: Endpoint): Client {
  let handed = false;
  // The origin is http also over TLS: for https undici takes another Host field for another server and reconnects.
  const client = new Client(`http://${authority}`, {
    allowH2: false,
    pipelining: 1,
    headersTimeout: 0,
    bodyTimeout: 0,
    // Not at once: undici does not look at what it gets while it still asks.
    connect: (_options, callback) =>
      queueMicrotask(() => {
        if (handed || socket.destroyed) {
          callback(new Error('the connection ended'), null);
          return;
        }
        handed = true;
        // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- undici reads and writes any duplex
        callback(null, socket as Socket);
      }),
  });
  const emitter: EventEmitter = client;
  emitter.on('error', () => undefined);
  return client;
}

class Handshake implements Dispatcher.DispatchHandler {
  readonly #endpoint: Endpoint;
  readonly #options: UpgradeOptions;
  readonly #answer = Promise.withResolvers<HandshakeAnswer>();
  readonly #chunks: Buffer[] = [];
  #size = 0;
  #head: Pick<OrdinaryAnswer, 'statusCode' | 'rawHeaders' | 'headers'> | undefined;

  constructor(endpoint: Endpoint, options: UpgradeOptions) {
    this.#endpoint = endpoint;
    this.#options = options;
  }

  get answer(): Promise<HandshakeAnswer> {
    return this.#answer.promise;
  }

  fail(error: unknown): void {
    this.#answer.reject(error);
  }

  onRequestStart(): void {}

  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    _statusCode: number,
    headers: IncomingHttpHeaders,
    socket: Duplex,
  ): void {
    socket.pause();
    const rawHeaders = rawFields(controller.rawHeaders);
    const fault = faultOfSwitch(this.#options, headers);
    if (fault === undefined) {
      this.#answer.resolve({ switched: true, rawHeaders, headers, socket });
    } else {
      this.fail(this.#invalid(fault));
    }
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    statusCode: number,
    headers: IncomingHttpHeaders,
  ): void {
    if (statusCode === 101) {
      // The parser does not take it for a switch: it says to nothing, or not that the connection is what switches.
      this.fail(this.#invalid('its 101 has no Upgrade field, or no Connection field that names it'));
    } else if (statusCode >= 200) {
      this.#head = { statusCode, headers, rawHeaders: rawFields(controller.rawHeaders) };
    }
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    const room = maxOrdinaryBodyBytes - this.#size;
    this.#chunks.push(chunk.subarray(0, room));
    this.#size += Math.min(chunk.length, room);
    if (chunk.length > room) {
      this.#settle(false);
    }
  }

  onResponseEnd(): void {
    this.#settle(true);
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, cause: Error): void {
    this.fail(failureOf(cause, this.#endpoint, null));
  }

  #settle(complete: boolean): void {
    if (this.#head !== undefined) {
      this.#answer.resolve({
        switched: false,
        ...this.#head,
        body: Buffer.concat(this.#chunks, this.#size),
        complete,
      });
    }
  }

  #invalid(fault: string): TransportError {
    const { origin } = this.#endpoint;
    return new TransportError(
      'ERR_RH_UPGRADE_INVALID',
      `${origin} did not switch to ${this.#options.protocol} as it was asked to: ${fault}`,
    );
  }
}
