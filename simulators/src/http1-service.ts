/** Node's HTTP/1.1 server on sockets that somebody else accepted, with the request heads kept as they came. */

import http, { type IncomingMessage, type ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import type { RecordedConnection } from './recorded-connection.ts';
import { RequestHeadCapture } from './request-head-capture.ts';

export interface Http1Arrival {
  readonly connection: RecordedConnection;
  readonly incoming: IncomingMessage;
  readonly response: ServerResponse;
  readonly rawHead: string | undefined;
}

interface ServedSocket {
  readonly connection: RecordedConnection;
  readonly capture: RequestHeadCapture;
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
  static create(arrived: (arrival: Http1Arrival) => void): Http1Service {
    const server = http.createServer({ keepAliveTimeout: 0, maxHeaderSize: 1024 * 1024 });
    const service = new Http1Service(server);
    server.on('request', (incoming, response) => {
      const served = service.#sockets.get(incoming.socket);
      if (served === undefined) throw new Error('A request on a socket that was never handed over');
      served.incoming = incoming;
      const { method = '', url: path = '', httpVersion } = incoming;
      const contentLength = Number(incoming.headers['content-length'] ?? 0);
      const rawHead = served.capture.take({ method, path, httpVersion }, contentLength);
      arrived({ connection: served.connection, incoming, response, rawHead });
    });
    server.on('clientError', (error, socket) => {
      service.#sockets.get(socket)?.connection.fail(error);
      socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n');
    });
    return service;
  }

  serve(socket: Duplex, connection: RecordedConnection): void {
    const served: ServedSocket = { connection, capture: new RequestHeadCapture() };
    this.#sockets.set(socket, served);
    this.#server.emit('connection', socket);
    // The parser reads past the stream's events until somebody listens to them; prepended, this sees a chunk before the parser does.
    socket.prependListener('data', (chunk: Buffer) => {
      served.capture.feed(chunk, served.incoming?.complete ?? true);
    });
  }
}
