/**
 * Where clients come in: plain HTTP on loopback, or TLS with HTTP/1.1 and HTTP/2. It owns the server and its connections;
 * what it cannot hand on as a request it answers itself.
 */

import { constants } from 'node:crypto';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server as HttpServer, ServerResponse } from 'node:http';
import { createSecureServer } from 'node:http2';
import type { Http2SecureServer, Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Server as NetServerClass } from 'node:net';
import type { SecureContextOptions, TLSSocket } from 'node:tls';
import { authorityOf, isLoopbackHost, listen } from '@roundhouse/process';
import type { ListenAddress } from '@roundhouse/process';
import { answerBrokenHead } from './broken-head.ts';
import { FrontConnections } from './front-connections.ts';
import { Http1Reply } from './http1-reply.ts';
import { Http1UpgradeReply } from './http1-upgrade-reply.ts';
import { Http2Reply } from './http2-reply.ts';
import { Http2UpgradeReply } from './http2-upgrade-reply.ts';
import type { Reply } from './reply.ts';
import { TurnEnd } from './turn-end.ts';
import { relayedProtocolIn } from './upgrade-protocol.ts';

/** May be replaced while it listens: connections that are open go on, new ones meet the new one. */
export interface FrontTls {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Clients are asked for certificates of this CA. */
  readonly clientCa: Buffer | undefined;
}

export interface FrontListenerOptions extends ListenAddress {
  readonly tls: FrontTls | undefined;
  /** A connection without a request is closed after this time. */
  readonly keepAliveTimeoutMs: number;
  /** From the connection, or the end of the request before, to the end of the head. */
  readonly headTimeoutMs: number;
  readonly maxHeadBytes: number;
  readonly serve: Serve;
  readonly onError: (error: Error) => void;
}

export type Incoming = IncomingMessage | Http2ServerRequest;

/** Must answer; `expectsContinue`: the client waits for 100 before it sends its body. */
export type Serve = (incoming: Incoming, reply: Reply, expectsContinue: boolean) => void;

export class FrontListener implements AsyncDisposable {
  readonly url: string;
  /** Nobody from outside this machine can reach it. */
  readonly onLoopback: boolean;
  readonly #server: HttpServer | Http2SecureServer;
  readonly #connections: FrontConnections;
  #stopped: Promise<void> | undefined;

  private constructor(
    server: HttpServer | Http2SecureServer,
    connections: FrontConnections,
    url: string,
    onLoopback: boolean,
  ) {
    this.#server = server;
    this.#connections = connections;
    this.url = url;
    this.onLoopback = onLoopback;
  }

  /** @throws ERR_RH_LISTEN_FAILED */
  static async open(options: FrontListenerOptions): Promise<FrontListener> {
    using stack = new DisposableStack();
    const connections = stack.use(new FrontConnections(options.keepAliveTimeoutMs));
    const server = options.tls === undefined ? plainServer(options) : secureServer(options, options.tls);
    attach(server, options, connections);
    const address = await listen(server, options, '--listen');
    stack.move();
    server.on('error', options.onError);
    const scheme = options.tls === undefined ? 'http' : 'https';
    const url = `${scheme}://${authorityOf(address)}`;
    return new FrontListener(server, connections, url, isLoopbackHost(address.host));
  }

  /** Connections open now. */
  get connections(): number {
    return this.#connections.size;
  }

  /** For connections from now on. Does nothing on a listener of plain HTTP. */
  replaceTls(tls: FrontTls): void {
    if ('setSecureContext' in this.#server) {
      this.#server.setSecureContext(secureContextOptions(tls));
    }
  }

  /** Accepts no more, and resolves when the last connection has ended by itself. */
  drain(): Promise<void> {
    void this.#stopAccepting();
    return this.#connections.drain();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const stopped = this.#stopAccepting();
    this.#connections[Symbol.dispose]();
    await stopped;
  }

  #stopAccepting(): Promise<void> {
    // The method of net.Server: that of http.Server would cut idle connections under requests that are on their way.
    this.#stopped ??= new Promise((resolve) => {
      NetServerClass.prototype.close.call(this.#server, () => resolve());
    });
    return this.#stopped;
  }
}

/** For both kinds of server. A dead client is noticed by TCP keepalive; small events leave at once. */
const socketOptions = { keepAlive: true, keepAliveInitialDelay: 30_000, noDelay: true } as const;

function plainServer(options: FrontListenerOptions): HttpServer {
  return createServer({ ...httpOptions(options), ...socketOptions });
}

function secureServer(options: FrontListenerOptions, tls: FrontTls): Http2SecureServer {
  return createSecureServer({
    ...httpOptions(options),
    ...socketOptions,
    allowHTTP1: true,
    ...secureContextOptions(tls),
    handshakeTimeout: options.headTimeoutMs,
    ...(tls.clientCa !== undefined && { requestCert: true, rejectUnauthorized: false }),
    settings: {
      maxConcurrentStreams: 250,
      maxHeaderListSize: options.maxHeadBytes,
      enableConnectProtocol: true,
    },
    // In megabytes; the default of 10 is less than 250 streams may have under way.
    maxSessionMemory: 64,
  });
}

function secureContextOptions({ cert, key, clientCa }: FrontTls): SecureContextOptions {
  return {
    cert,
    key,
    minVersion: 'TLSv1.2',
    // A resumed session is not verified again, and does not bring the client's chain along.
    ...(clientCa !== undefined && { ca: clientCa, secureOptions: constants.SSL_OP_NO_TICKET }),
  };
}

function httpOptions({ keepAliveTimeoutMs, headTimeoutMs, maxHeadBytes }: FrontListenerOptions) {
  return {
    maxHeaderSize: maxHeadBytes,
    headersTimeout: headTimeoutMs,
    connectionsCheckingInterval: Math.max(250, Math.min(5_000, headTimeoutMs / 2)),
    // A body may take as long as it does; one that does not come at all is given up by the forwarding.
    requestTimeout: 0,
    keepAliveTimeout: keepAliveTimeoutMs,
    insecureHTTPParser: false,
  };
}

function attach(
  server: HttpServer | Http2SecureServer,
  options: FrontListenerOptions,
  connections: FrontConnections,
): void {
  const { serve } = options;
  const closing = (): boolean => connections.draining;
  const turnEnd = new TurnEnd();
  const receive = (
    incoming: Incoming,
    response: ServerResponse | Http2ServerResponse,
    expectsContinue: boolean,
  ): void => {
    if ('stream' in response) {
      serve(incoming, new Http2Reply(response.stream), expectsContinue);
      return;
    }
    const { socket } = incoming;
    connections.requestStarted(socket);
    const onOver = (): void => connections.requestEnded(socket);
    serve(incoming, new Http1Reply({ response, closing, turnEnd, onOver }), expectsContinue);
  };
  /** The parser has let go of the connection: it is the answer's, or the session's that it becomes. */
  const receiveAlone = (incoming: IncomingMessage, head: Buffer): void => {
    // Of a request with a body Node.js gives a stream in its place. Such a request is refused, on the connection itself.
    const { socket } = incoming;
    const reply = new Http1UpgradeReply(socket, head, connections.below(socket));
    // It may have come right behind requests that are not answered yet, and would be answered in the middle of that.
    connections.whenAnswered(socket, () => {
      connections.requestStarted(socket);
      socket.once('close', () => connections.requestEnded(socket));
      serve(incoming, reply, false);
    });
  };
  const secure = 'setSecureContext' in server;
  // Node.js would drop fields beyond its limit without a word; they are counted where they are read.
  // Its limits again, since a server that speaks HTTP/2 too takes them from its options in newer versions only.
  const { headersTimeout, connectionsCheckingInterval, requestTimeout, keepAliveTimeout } =
    httpOptions(options);
  Object.assign(server, {
    maxHeadersCount: 0,
    headersTimeout,
    connectionsCheckingInterval,
    requestTimeout,
    keepAliveTimeout,
    // Any other offer is not taken up, which is what the request says then: it is answered as it stands. So is one that
    // comes with a body, for which the parser must stay, or over HTTP/1.0.
    shouldUpgradeCallback: ({ headers, httpVersion }: IncomingMessage) =>
      httpVersion === '1.1' && relayedProtocolIn(headers.upgrade) !== undefined && !announcesBody(headers),
  });
  server.on('connection', (socket: Socket) => {
    connections.socketOpened(socket);
    socket.on('error', () => undefined);
    if (!secure) {
      connections.http1Opened(socket);
    }
  });
  server.on('secureConnection', (socket: TLSSocket) => {
    if (socket.alpnProtocol !== 'h2') {
      connections.http1Opened(socket);
    }
  });
  server.on('session', (session) => connections.sessionOpened(session));
  server.on('request', (incoming, response) => receive(incoming, response, false));
  server.on('checkContinue', (incoming, response) => receive(incoming, response, true));
  server.on('upgrade', (incoming: IncomingMessage, _stream: Duplex, head: Buffer) =>
    receiveAlone(incoming, head),
  );
  server.on('connect', (incoming: Incoming, response: Duplex | Http2ServerResponse, head: Buffer) => {
    if ('stream' in response) {
      serve(incoming, new Http2UpgradeReply(response.stream), false);
    } else if (!('stream' in incoming)) {
      receiveAlone(incoming, head);
    }
  });
  server.on('clientError', answerBrokenHead);
}

function announcesBody(headers: IncomingHttpHeaders): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}
