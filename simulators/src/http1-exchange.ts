/** An `Exchange` over HTTP/1.1. */

import type { ServerResponse } from 'node:http';
import {
  RecordedExchange,
  withContentLength,
  type Exchange,
  type Reply,
  type ReplyHeaders,
  type UpgradeRequest,
} from './exchange.ts';
import type { Http1Arrival } from './http1-service.ts';
import type { RecordedRequest } from './recorded-request.ts';

export class Http1Exchange extends RecordedExchange implements Exchange {
  readonly upgrade: UpgradeRequest | undefined;
  readonly #response: ServerResponse;
  #switched = false;

  constructor(
    request: RecordedRequest,
    { incoming, response, upgrade }: Http1Arrival,
    collectBody: () => Promise<void>,
  ) {
    super(request, collectBody);
    this.#response = response;
    if (upgrade !== undefined) {
      const { socket, early } = upgrade;
      // A response on a socket that outlives it is never closed.
      response.once('finish', () => this.settle(true));
      this.upgrade = {
        early,
        switchProtocols: (head, alongWith = '') => {
          if (this.#gone) return undefined;
          this.#switched = true;
          response.detachSocket(socket);
          socket.once('close', () => this.settle(true));
          socket.write(Buffer.concat([Buffer.from(head, 'latin1'), Buffer.from(alongWith)]));
          return socket;
        },
      };
    }
    // Replies hold what the handler says, and nothing else.
    response.sendDate = false;
    // A client that goes away is no fault of the peer's: `signal` tells the handler, the connection has recorded the reason.
    incoming.on('error', () => {});
    response.on('error', () => {});
    response.once('close', () => {
      if (!this.#switched) this.settle(response.writableFinished);
    });
  }

  async respond(reply: Reply = {}): Promise<void> {
    const { status = 200, body, trailers } = reply;
    if (this.#gone) return;
    this.#response.writeHead(status, copied(withContentLength(reply)));
    await this.end(body, trailers);
  }

  inform(status: number, headers: ReplyHeaders = {}): void {
    if (this.#gone) return;
    const lines = Object.entries(headers).flatMap(([name, value]) =>
      [value].flat().map((single) => `${name}: ${single}\r\n`),
    );
    void this.connection.write(`HTTP/1.1 ${status} Information\r\n${lines.join('')}\r\n`);
  }

  async writeHead(status: number, headers: ReplyHeaders = {}): Promise<void> {
    if (this.#gone) return;
    this.#response.writeHead(status, copied(headers));
    this.#response.flushHeaders();
    // Writes complete in their order, so an empty one of the connection's tells that the head is through.
    await this.connection.write('');
  }

  async write(chunk: string | Uint8Array): Promise<void> {
    if (this.#gone) return;
    await this.sent((done) => this.#response.write(chunk, done));
  }

  async end(chunk: string | Uint8Array = '', trailers?: Readonly<Record<string, string>>): Promise<void> {
    if (this.#gone) return;
    if (trailers !== undefined) {
      if (!this.#response.headersSent) this.#response.setHeader('transfer-encoding', 'chunked');
      this.#response.addTrailers(trailers);
    }
    await this.sent((done) => this.#response.end(chunk, done));
  }

  reset(): void {
    this.connection.reset();
  }

  get #gone(): boolean {
    return this.#switched || this.#response.destroyed || this.#response.writableEnded;
  }
}

/** Node asks for lists that it could change. */
function copied(headers: ReplyHeaders): Record<string, string | string[]> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, typeof value === 'string' ? value : [...value]]),
  );
}
