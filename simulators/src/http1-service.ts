/** Node's HTTP/1.1 server on sockets that somebody else accepted, with the request heads kept as they came. */

import http, { ServerResponse, type IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { RecordedConnection } from './recorded-connection.ts';
import { RequestHeadCapture } from './request-head-capture.ts';

export interface Http1Arrival {
  readonly connection: RecordedConnection;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly rawHead: string | undefined;
  /** Of a request to switch protocols: the socket, and what was read of it behind the head. Then nothing else reads from it. */
  readonly upgrade?: { readonly socket: Socket; readonly early: Buffer };
}

export interface Http1ServiceOptions {
  /** Whether requests with an Upgrade field are told apart. They can be answered in the ordinary way all the same. */
  readonly upgrades: boolean;
}

interface ServedSocket {
  readonly connection: RecordedConnection;
  readonly capture: RequestHeadCapture;
  readonly feed: (chunk: Buffer) => void;
  /** The request that arrived last. */
  incoming?: IncomingMessage;
}

export class Http1Service {
  readonly #server: http.Server;
  readonly #sockets = new WeakMap<Duplex, ServedSocket>();

  private constructor(server: http.Server) {
    this.#server = server;
  }

  /** A server that never listens has no timers either: nothing ends a connection here but its two ends. */
  static create(arrived: (arrival: Http1Arrival) => void, { upgrades }: Http1ServiceOptions): Http1Service {
    const server = http.createServer({ keepAliveTimeout: 0, maxHeaderSize: 1024 * 1024 });
    const service = new Http1Service(server);
    server.on('request', (incoming, response) => {
      const { connection, rawHead } = service.#recorded(incoming);
      arrived({ connection, incoming, response, rawHead });
    });
    if (upgrades)
      server.on('upgrade', (incoming, socket, early) => arrived(service.#upgrade(incoming, socket, early)));
    server.on('clientError', (error, socket) => {
      service.#sockets.get(socket)?.connection.fail(error);
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    });
    return service;
  }

  serve(socket: Duplex, connection: RecordedConnection): void {
    const served: ServedSocket = {
      connection,
      capture: new RequestHeadCapture(),
      feed: (chunk) => served.capture.feed(chunk, served.incoming?.complete ?? true),
    };
    this.#sockets.set(socket, served);
    this.#server.emit('connection', socket);
    // The parser reads past the stream's events until somebody listens to them; prepended, this sees a chunk before the parser does.
    socket.prependListener('data', served.feed);
  }

  #recorded(incoming: IncomingMessage): ServedSocket & { readonly rawHead: string | undefined } {
    const served = this.#sockets.get(incoming.socket);
    if (served === undefined) throw new Error('A request on a socket that was never handed over');
    served.incoming = incoming;
    const { method = '', url: path = '', httpVersion } = incoming;
    const contentLength = Number(incoming.headers['content-length'] ?? 0);
    return { ...served, rawHead: served.capture.take({ method, path, httpVersion }, contentLength) };
  }

  /** Node has let go of the socket: an ordinary answer needs a response on it, and then the connection goes on as it would have. */
  #upgrade(incoming: IncomingMessage, socket: Duplex, early: Buffer): Http1Arrival {
    if (!(socket instanceof Socket)) throw new Error('A request on something else than a socket');
    const { connection, rawHead, feed } = this.#recorded(incoming);
    socket.off('data', feed);
    const response = new ServerResponse(incoming);
    response.assignSocket(socket);
    response.once('finish', () => {
      response.detachSocket(socket);
      if (socket.destroyed) return;
      if (early.length > 0) socket.unshift(early);
      if (response.shouldKeepAlive) this.serve(socket, connection);
      else socket.end();
    });
    return { connection, incoming, response, rawHead, upgrade: { socket, early } };
  }
}
