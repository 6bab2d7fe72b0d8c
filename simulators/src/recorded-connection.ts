/**
 * What a peer saw of one TCP connection, and the ways in which the peer can end it. A connection counts from the moment the operating
 * system accepted it, also when TLS fails or no request ever comes: that is what a leak is made of.
 */

import { constants, type ServerHttp2Session } from 'node:http2';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import type { HttpProtocol, RecordedRequest } from './recorded-request.ts';

/** What the TLS handshake said. */
export interface RecordedTls {
  readonly version: string;
  /** What the two agreed on; undefined when they agreed on nothing. */
  readonly alpnProtocol: string | undefined;
  /** The name the client asked for (SNI); it sends none for an address. */
  readonly servername: string | undefined;
  /** Whether an earlier session was resumed; certificates are not checked again then. */
  readonly sessionReused: boolean;
  /** Common name of the client certificate; undefined without one. */
  readonly clientCommonName: string | undefined;
  /** Organizations of the client certificate, in their order; Kubernetes reads groups from them. */
  readonly clientOrganizations: readonly string[];
  /** SHA-256 fingerprint of the client certificate; undefined without one. */
  readonly clientFingerprint: string | undefined;
  /** Whether the client certificate leads to the server's client authority. */
  readonly clientAuthorized: boolean;
}

export interface GoawayOptions {
  /** HTTP/2 error code. Default: NO_ERROR. */
  readonly code?: number;
  /** The last stream that was or will be worked on. Default: the last that arrived. */
  readonly lastStreamId?: number;
}

export class RecordedConnection {
  /** In order of acceptance, from 1. */
  readonly id: number;
  /** The client's port. */
  readonly remotePort: number | undefined;
  /** Milliseconds on the scale of `performance.now()`. */
  readonly openedAt = performance.now();
  /** In order of arrival. */
  readonly requests: RecordedRequest[] = [];
  /** Resolves when both directions are closed. */
  readonly closed: Promise<void>;

  readonly #socket: Socket;
  #secureSocket: TLSSocket | undefined;
  #session: ServerHttp2Session | undefined;
  #tls: RecordedTls | undefined;
  #protocol: HttpProtocol | undefined;
  #error: Error | undefined;
  #finReceived = false;
  #closedAt: number | undefined;

  constructor(id: number, socket: Socket, changed: () => void) {
    this.id = id;
    this.remotePort = socket.remotePort;
    this.#socket = socket;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.once('end', () => {
      this.#finReceived = true;
      changed();
    });
    socket.on('error', (error) => this.fail(error));
    socket.once('close', () => {
      this.#closedAt = performance.now();
      resolve();
      changed();
    });
  }

  get open(): boolean {
    return this.#closedAt === undefined;
  }

  /** Open, and no request waits for its answer. */
  get idle(): boolean {
    return this.open && this.requests.every((request) => request.outcome !== 'pending');
  }

  get closedAt(): number | undefined {
    return this.#closedAt;
  }

  /** What the handshake said; undefined over plain TCP and until it has succeeded. */
  get tls(): RecordedTls | undefined {
    return this.#tls;
  }

  /** Undefined until the first byte of HTTP can be understood. */
  get protocol(): HttpProtocol | undefined {
    return this.#protocol;
  }

  /** The first thing that went wrong: a failed handshake, a reset by the client, bytes that are not HTTP. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Whether the client ended its direction in good order. False after a reset, or when the server was first. */
  get finReceived(): boolean {
    return this.#finReceived;
  }

  /** Sends FIN after what was written. The connection closes when the client ends its direction, too. */
  finish(): void {
    this.#stream.end();
  }

  /** Sends RST. */
  reset(): void {
    // After a FIN the operating system sends no RST for us, and Node would lose the descriptor over the attempt.
    if (this.#stream.writableEnded) {
      this.destroy();
      return;
    }
    if (!this.#socket.destroyed) this.#socket.resetAndDestroy();
    this.#secureSocket?.destroy();
  }

  /** Closes the descriptor, as the end of the server's process would. */
  destroy(): void {
    this.#secureSocket?.destroy();
    this.#socket.destroy();
  }

  /** Announces that no further streams are taken; those that run go on. HTTP/2 only. */
  goaway(options: GoawayOptions = {}): void {
    if (this.#session === undefined) throw new Error(`Connection ${this.id} does not speak HTTP/2`);
    const { code = constants.NGHTTP2_NO_ERROR, lastStreamId } = options;
    if (!this.#session.destroyed) this.#session.goaway(code, lastStreamId);
  }

  /** Announces the end and closes when the running streams have ended. HTTP/2 only. */
  shutDown(): void {
    if (this.#session === undefined) throw new Error(`Connection ${this.id} does not speak HTTP/2`);
    this.#session.close();
  }

  /** Writes these bytes (strings as latin1) whatever HTTP thinks of them. Resolves when they are with the operating system. */
  async write(bytes: string | Uint8Array): Promise<void> {
    if (this.#session !== undefined)
      throw new Error('The bytes of an HTTP/2 connection belong to its session');
    const { promise, resolve } = Promise.withResolvers<void>();
    if (typeof bytes === 'string') this.#stream.write(bytes, 'latin1', () => resolve());
    else this.#stream.write(bytes, () => resolve());
    await Promise.race([promise, this.closed]);
  }

  get #stream(): Socket {
    return this.#secureSocket ?? this.#socket;
  }

  /** For the server: the handshake has succeeded. */
  secure(socket: TLSSocket): void {
    this.#secureSocket = socket;
    socket.on('error', (error) => this.fail(error));
    socket.once('end', () => {
      this.#finReceived = true;
    });
    // An empty object stands for "no certificate".
    const certificate: {
      subject?: { CN?: string | string[]; O?: string | string[] };
      fingerprint256?: string;
    } = socket.getPeerCertificate();
    const commonName = certificate.subject?.CN;
    this.#tls = {
      version: socket.getProtocol() ?? 'unknown',
      alpnProtocol: typeof socket.alpnProtocol === 'string' ? socket.alpnProtocol : undefined,
      servername: typeof socket.servername === 'string' ? socket.servername : undefined,
      sessionReused: socket.isSessionReused(),
      clientCommonName: Array.isArray(commonName) ? commonName.join(', ') : commonName,
      clientOrganizations: [certificate.subject?.O ?? []].flat(),
      clientFingerprint: certificate.fingerprint256,
      clientAuthorized: certificate.fingerprint256 !== undefined && socket.authorized,
    };
  }

  /** For the server: it is known what is spoken. */
  speak(protocol: HttpProtocol, session?: ServerHttp2Session): void {
    this.#protocol = protocol;
    this.#session = session;
    session?.on('error', (error) => this.fail(error));
  }

  /** For the server: something went wrong; only the first counts, the rest follows from it. */
  fail(error: Error): void {
    this.#error ??= error;
  }
}
