/**
 * An upstream that does what its handler says and remembers what it saw: every TCP connection that was accepted, with its handshake,
 * its request heads and its end. Plain TCP or TLS, HTTP/1.1 or HTTP/2. It has no time limits of its own, so all that happens comes
 * from the client, the handler or the test.
 */

import { once } from 'node:events';
import http2 from 'node:http2';
import net, { type Socket } from 'node:net';
import type { Readable } from 'node:stream';
import tls, { type TLSSocket } from 'node:tls';
import { ChangeSignal, type WaitOptions } from './change-signal.ts';
import { ExchangeAborted, type Exchange, type Handler } from './exchange.ts';
import { Http1Exchange } from './http1-exchange.ts';
import { Http1Service } from './http1-service.ts';
import { Http2Exchange } from './http2-exchange.ts';
import { RecordedConnection, type GoawayOptions } from './recorded-connection.ts';
import { RecordedRequest, type HttpProtocol, type RequestFacts } from './recorded-request.ts';
import { secureContext, tlsListener, type RecordingTlsOptions } from './recording-tls.ts';

export interface RecordingServerOptions {
  /** Called for each request as soon as its head is there. Default: answers 200 with the body `ok`. */
  readonly handle?: Handler;
  /** Plain TCP without. */
  readonly tls?: RecordingTlsOptions;
  /** Over plain TCP nothing is negotiated, so the first one is spoken. Default: `['http/1.1']`. */
  readonly protocols?: readonly HttpProtocol[];
  /** Concurrent streams that a client may open on an HTTP/2 connection. Default: 100. */
  readonly maxConcurrentStreams?: number;
  /** True leaves bodies unread, so that the client feels back-pressure, until `readBody()`. Default: false. */
  readonly holdBodies?: boolean;
  /** What is kept of each request's body. Default: 64 KiB. */
  readonly keepBodyBytes?: number;
  /** Connections, and requests, that are remembered; beyond that the oldest are forgotten, the counters go on. Default: all. */
  readonly keepRecords?: number;
  /** Whether handlers may switch the protocol of requests that ask for it. Default: false, those are requests as any. */
  readonly upgrades?: boolean;
  /** Address to listen on. Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: a free one. */
  readonly port?: number;
}

export class RecordingServer implements AsyncDisposable {
  /** Every connection accepted, in order; with `keepRecords` the newest of them. */
  readonly connections: RecordedConnection[] = [];
  /** Every request whose head arrived, in order; with `keepRecords` the newest of them. */
  readonly requests: RecordedRequest[] = [];
  /** Why handshakes failed, in order. */
  readonly tlsErrors: Error[] = [];
  /** May be replaced; requests that arrive from then on meet the new one. */
  handle: Handler;

  readonly #options: RecordingServerOptions;
  readonly #protocols: readonly HttpProtocol[];
  readonly #listener: net.Server;
  readonly #http1: Http1Service;
  readonly #changes = new ChangeSignal();
  /** Each takes itself out as it closes. */
  readonly #open = new Set<RecordedConnection>();
  readonly #handlerErrors: unknown[] = [];
  #accepted = 0;
  #received = 0;
  #secured = 0;
  #closing: Promise<void> | undefined;

  private constructor(
    options: RecordingServerOptions,
    protocols: readonly HttpProtocol[],
    listener: net.Server,
  ) {
    this.handle = options.handle ?? ((exchange) => exchange.respond({ body: 'ok' }));
    this.#options = options;
    this.#protocols = protocols;
    this.#listener = listener;
    const { upgrades = false } = options;
    this.#http1 = Http1Service.create(
      (arrival) => {
        const { connection, incoming, rawHead } = arrival;
        const facts: Omit<RequestFacts, 'id'> = {
          connection,
          protocol: 'http/1.1',
          method: incoming.method ?? '',
          path: incoming.url ?? '',
          rawHeaders: incoming.rawHeaders,
          rawHead,
          streamId: undefined,
        };
        this.#begin(facts, incoming, (request, body) => new Http1Exchange(request, arrival, body));
      },
      { upgrades },
    );
  }

  static async listen(options: RecordingServerOptions = {}): Promise<RecordingServer> {
    const { host = '127.0.0.1', port = 0, protocols = ['http/1.1'] } = options;
    const listener =
      options.tls === undefined ? net.createServer({ noDelay: true }) : tlsListener(options.tls, protocols);
    const server = new RecordingServer(options, protocols, listener);
    // A TLS server says 'connection' for the bare socket, before the handshake.
    listener.on('connection', (socket: Socket) => server.#accept(socket));
    listener.on('secureConnection', (socket: TLSSocket) => server.#secure(socket));
    listener.on('tlsClientError', (error: Error, socket: TLSSocket) => server.#refuse(error, socket));
    listener.listen({ host, port });
    await once(listener, 'listening');
    return server;
  }

  get port(): number {
    return this.#address.port;
  }

  /** `https://127.0.0.1:41234`. */
  get url(): string {
    const { address, family, port } = this.#address;
    const host = family === 'IPv6' ? `[${address}]` : address;
    return `${this.#options.tls === undefined ? 'http' : 'https'}://${host}:${port}`;
  }

  /** TCP connections open now, however far TLS has come. */
  get open(): number {
    return this.#open.size;
  }

  /** TCP connections accepted so far. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Requests whose head has arrived so far. */
  get received(): number {
    return this.#received;
  }

  /** TLS handshakes that have succeeded so far. */
  get secured(): number {
    return this.#secured;
  }

  /** Resolves when exactly `count` connections are open. */
  async waitForOpen(count: number, options?: WaitOptions): Promise<void> {
    return this.waitUntil(() => this.open === count, `${count} open`, options);
  }

  /** Resolves when at least `count` connections have been accepted. */
  async waitForAccepted(count: number, options?: WaitOptions): Promise<void> {
    return this.waitUntil(() => this.accepted >= count, `${count} accepted`, options);
  }

  /** Resolves when at least `count` requests have arrived. */
  async waitForRequests(count: number, options?: WaitOptions): Promise<void> {
    return this.waitUntil(() => this.received >= count, `${count} requests`, options);
  }

  /** Resolves when the condition holds, which is looked at whenever a connection or a request has changed. */
  async waitUntil(holds: () => boolean, what: string, options?: WaitOptions): Promise<void> {
    const state = () =>
      `${this.open} open, ${this.accepted} accepted, ${this.secured} secured, ${this.received} requests`;
    return this.#changes.until(holds, () => `${what}; there are ${state()}`, options);
  }

  /** Handshakes from now on use this certificate and authority; connections that are open stay as they are. */
  replaceTls(material: Pick<RecordingTlsOptions, 'certPem' | 'keyPem' | 'clientCaPem'>): void {
    if (!(this.#listener instanceof tls.Server)) throw new Error('This server speaks plain TCP');
    this.#listener.setSecureContext(secureContext({ ...this.#options.tls, ...material }));
  }

  /** Ends every connection on which no request waits for its answer, as a server does whose idle time is over. */
  closeIdle(how: 'fin' | 'rst' = 'fin'): void {
    for (const connection of this.#open) {
      if (!connection.idle) continue;
      if (how === 'fin') connection.finish();
      else connection.reset();
    }
  }

  /** Sends GOAWAY on every open HTTP/2 connection. */
  goaway(options?: GoawayOptions): void {
    for (const connection of this.#open) if (connection.protocol === 'h2') connection.goaway(options);
  }

  /** Cuts every open connection; the server goes on listening. */
  destroySockets(): void {
    for (const connection of this.#open) connection.destroy();
  }

  /** Stops listening and cuts what is open. Rejects with what handlers have thrown, so that a test cannot miss it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const closed = once(this.#listener, 'close');
    this.#listener.close();
    this.destroySockets();
    await closed;
    this.#changes.fail(new Error('The server was closed meanwhile'));
    if (this.#handlerErrors.length > 0) throw new AggregateError(this.#handlerErrors, 'A handler has failed');
  }

  get #address(): net.AddressInfo {
    const address = this.#listener.address();
    if (address === null || typeof address === 'string') throw new Error('The server is closed');
    return address;
  }

  #accept(socket: Socket): void {
    this.#accepted += 1;
    const connection = new RecordedConnection(this.#accepted, socket, () => this.#changes.notify());
    this.#remember(this.connections, connection);
    this.#open.add(connection);
    void connection.closed.then(() => {
      this.#open.delete(connection);
      this.#changes.notify();
    });
    if (this.#options.tls === undefined) this.#serve(connection, socket, this.#protocols[0] ?? 'http/1.1');
    this.#changes.notify();
  }

  #secure(socket: TLSSocket): void {
    const connection = this.#ofPort(socket.remotePort);
    if (connection === undefined) {
      // The client had gone before its handshake was noticed.
      socket.destroy();
      return;
    }
    connection.secure(socket);
    this.#secured += 1;
    const agreed = this.#protocols.find((protocol) => protocol === socket.alpnProtocol);
    // Without an agreement HTTP/1.1 is meant, unless HTTP/2 is all that is spoken here.
    this.#serve(connection, socket, agreed ?? (this.#protocols.includes('http/1.1') ? 'http/1.1' : 'h2'));
    this.#changes.notify();
  }

  #refuse(error: Error, socket: TLSSocket): void {
    this.tlsErrors.push(error);
    this.#ofPort(socket.remotePort)?.fail(error);
    socket.destroy();
    this.#changes.notify();
  }

  /** Finds a TLS socket's connection: the client's port is unique among those that are open. */
  #ofPort(port: number | undefined): RecordedConnection | undefined {
    for (const connection of this.#open) {
      if (port !== undefined && connection.remotePort === port) return connection;
    }
    return undefined;
  }

  #serve(connection: RecordedConnection, socket: Socket, protocol: HttpProtocol): void {
    if (protocol === 'http/1.1') {
      connection.speak(protocol);
      this.#http1.serve(socket, connection);
      return;
    }
    const session = http2.performServerHandshake(socket, {
      settings: { maxConcurrentStreams: this.#options.maxConcurrentStreams ?? 100 },
    });
    connection.speak(protocol, session);
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      const facts: Omit<RequestFacts, 'id'> = {
        connection,
        protocol,
        method: headers[':method'] ?? '',
        path: headers[':path'] ?? '',
        rawHeaders,
        rawHead: undefined,
        streamId: stream.id,
      };
      this.#begin(facts, stream, (request, body) => new Http2Exchange(request, stream, body));
    });
  }

  #begin(
    facts: Omit<RequestFacts, 'id'>,
    body: Readable,
    open: (request: RecordedRequest, collectBody: () => Promise<void>) => Exchange,
  ): void {
    const { keepBodyBytes = 64 * 1024, holdBodies = false } = this.#options;
    const changed = () => this.#changes.notify();
    this.#received += 1;
    const request = new RecordedRequest({ ...facts, id: this.#received });
    this.#remember(this.requests, request);
    this.#remember(facts.connection.requests, request);
    const collectBody = async () => request.collectBody(body, keepBodyBytes, changed);
    const exchange = open(request, collectBody);
    void exchange.closed.then(changed);
    if (!holdBodies) void collectBody();
    void this.#run(exchange);
    changed();
  }

  #remember<Entry>(list: Entry[], entry: Entry): void {
    const { keepRecords = Number.POSITIVE_INFINITY } = this.#options;
    list.push(entry);
    if (list.length > keepRecords) list.splice(0, list.length - keepRecords);
  }

  async #run(exchange: Exchange): Promise<void> {
    try {
      await this.handle(exchange);
    } catch (error) {
      if (error instanceof ExchangeAborted) return;
      this.#handlerErrors.push(error);
      exchange.reset();
    }
  }
}
