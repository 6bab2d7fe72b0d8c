/**
 * From an endpoint to a socket that is ready for HTTP: the dialer's bytes, TLS over them, the peer verified. Whoever
 * calls owns the socket; until then everything half-open is ended here.
 */

import type { Duplex } from 'node:stream';
import { connect as connectTls, createSecureContext } from 'node:tls';
import type { ConnectionOptions, SecureContext, TLSSocket } from 'node:tls';
import { isIP } from 'node:net';
import type { AlpnOffer, Endpoint } from './endpoint.ts';
import { TransportError } from './errors.ts';

/**
 * TLS state that connections of one transport share: the parsed context, and the newest resumable session. Never shared
 * between transports: Node.js does not verify a peer again when a session is resumed.
 */
export interface TlsState {
  readonly context: SecureContext;
  session: Buffer | undefined;
}

export interface DialedSocket {
  readonly socket: Duplex;
  /** What is at the bottom of it: under TLS, and under what the dialer has laid in between. Without both it is the same. */
  readonly bare: Duplex;
  readonly protocol: 'http/1.1' | 'h2';
  readonly resumed: boolean;
}

/** @throws ERR_RH_MATERIAL_INVALID when OpenSSL refuses what the parser took (for instance a key of an unknown kind). */
export function createTlsState(endpoint: Endpoint): TlsState {
  try {
    return {
      context: createSecureContext({
        ...endpoint.material.secureContextOptions(),
        minVersion: endpoint.minVersion,
        ...(endpoint.maxVersion !== undefined && { maxVersion: endpoint.maxVersion }),
        ...(endpoint.ciphers !== undefined && { ciphers: endpoint.ciphers }),
        ...(endpoint.allowPartialTrustChain && { allowPartialTrustChain: true }),
      }),
      session: undefined,
    };
  } catch {
    // OpenSSL's message may quote the material, so it is not kept as the cause.
    throw new TransportError(
      'ERR_RH_MATERIAL_INVALID',
      `OpenSSL refuses the TLS options for ${endpoint.origin}`,
    );
  }
}

/**
 * @throws ERR_RH_DIAL_FAILED, ERR_RH_DIAL_TIMEOUT, ERR_RH_TLS_UNTRUSTED, ERR_RH_TLS_FAILED, ERR_RH_ALPN_MISMATCH, and the
 * `TransportError`s of the dialer
 */
export async function dialEndpoint(
  endpoint: Endpoint,
  tls: TlsState | undefined,
  alpn: AlpnOffer,
  signal: AbortSignal,
): Promise<DialedSocket> {
  const raw = await dialRaw(endpoint, signal);
  if (raw.destroyed) {
    throw endedAtOnce(endpoint);
  }
  const bare = endpoint.dialer.bottomOf?.(raw) ?? raw;
  if (tls === undefined) {
    return { socket: raw, bare, protocol: alpn === 'h2' ? 'h2' : 'http/1.1', resumed: false };
  }
  const socket = await secure(endpoint, tls, alpn, raw, signal).catch((error: unknown) => {
    raw.destroy();
    throw error;
  });
  const protocol = socket.alpnProtocol === 'h2' ? 'h2' : 'http/1.1';
  if (alpn !== 'auto' && alpn !== protocol) {
    socket.destroy();
    throw new TransportError('ERR_RH_ALPN_MISMATCH', `${endpoint.origin} does not speak ${alpn}`);
  }
  return { socket, bare, protocol, resumed: socket.isSessionReused() };
}

/** Its 'close' may be over already, so nobody would ever hear of it again. */
export function endedAtOnce(endpoint: Endpoint): TransportError {
  return new TransportError(
    'ERR_RH_DIAL_FAILED',
    `the connection to ${endpoint.origin} ended as soon as it was made`,
  );
}

async function dialRaw(endpoint: Endpoint, signal: AbortSignal): Promise<Duplex> {
  const dialing = endpoint.dialer.dial({ host: endpoint.host, port: endpoint.port }, { signal });
  try {
    return keepQuiet(await orAborted(dialing, signal));
  } catch (cause) {
    // A dialer that does not look at its signal may still succeed: that connection has no owner, so it ends here.
    dialing.then(
      (late) => keepQuiet(late).destroy(),
      () => undefined,
    );
    if (signal.aborted) {
      throw abortError(endpoint, signal);
    }
    // Of a dialer that knows more of what went wrong.
    if (cause instanceof TransportError) {
      throw cause;
    }
    throw new TransportError(
      'ERR_RH_DIAL_FAILED',
      `cannot connect to ${endpoint.origin}: ${reasonOf(cause)}`,
      { cause },
    );
  }
}

function secure(
  endpoint: Endpoint,
  tls: TlsState,
  alpn: AlpnOffer,
  raw: Duplex,
  signal: AbortSignal,
): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = keepQuiet(connectTls(connectionOptions(endpoint, tls, alpn, raw)));
    // Node.js emits a session a TLS 1.3 connection after the handshake, at any time; the newest is the one to resume.
    socket.on('session', (session: Buffer) => {
      tls.session = session;
    });
    const settle = (): void => {
      socket.off('secureConnect', onSecure);
      socket.off('error', onError);
      socket.off('close', onClose);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (error: TransportError): void => {
      settle();
      socket.destroy();
      reject(error);
    };
    const onSecure = (): void => {
      settle();
      resolve(socket);
    };
    const onError = (cause: Error): void => fail(handshakeError(endpoint, alpn, cause));
    const onClose = (): void =>
      fail(handshakeError(endpoint, alpn, new Error('the connection ended during the handshake')));
    const onAbort = (): void => fail(abortError(endpoint, signal));
    socket.once('secureConnect', onSecure);
    socket.once('error', onError);
    socket.once('close', onClose);
    signal.addEventListener('abort', onAbort, { once: true });
    if (signal.aborted) {
      onAbort();
    }
  });
}

/**
 * An error of a socket is always followed by its 'close', and that is what its owner acts on. While nobody listens to
 * the error itself it would end the process.
 */
function keepQuiet<Socket extends Duplex>(socket: Socket): Socket {
  return socket.on('error', () => undefined);
}

function connectionOptions(
  endpoint: Endpoint,
  tls: TlsState,
  alpn: AlpnOffer,
  raw: Duplex,
): ConnectionOptions {
  return {
    socket: raw,
    secureContext: tls.context,
    rejectUnauthorized: !endpoint.insecure,
    // The name that the certificate is checked for. SNI carries names only (RFC 6066, section 3).
    host: endpoint.serverName,
    ...(isIP(endpoint.serverName) === 0 && { servername: endpoint.serverName }),
    ALPNProtocols: alpnProtocols[alpn],
    ...(tls.session !== undefined && { session: tls.session }),
  };
}

const alpnProtocols: Readonly<Record<AlpnOffer, string[]>> = {
  'http/1.1': ['http/1.1'],
  h2: ['h2'],
  auto: ['h2', 'http/1.1'],
};

function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    if (signal.aborted) {
      onAbort();
    }
    signal.addEventListener('abort', onAbort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}

function abortError(endpoint: Endpoint, signal: AbortSignal): TransportError {
  const reason: unknown = signal.reason;
  return reason instanceof TransportError
    ? reason
    : new TransportError('ERR_RH_ABORTED', `the connection to ${endpoint.origin} is no longer wanted`, {
        cause: reason,
      });
}

/** OpenSSL's verification results, as Node.js names them (tls.TLSSocket, "X509 certificate error codes"). */
const untrusted =
  /^(?:CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_(?:CA|PURPOSE)|PATH_LENGTH|HOSTNAME_MISMATCH)/;

function handshakeError(endpoint: Endpoint, alpn: AlpnOffer, cause: Error): TransportError {
  const code = 'code' in cause ? String(cause.code) : '';
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID' || untrusted.test(code)) {
    const name = endpoint.serverName === endpoint.host ? '' : ` as ${endpoint.serverName}`;
    return new TransportError(
      'ERR_RH_TLS_UNTRUSTED',
      `${endpoint.origin}${name} is not trusted: ${reasonOf(cause)}`,
      {
        cause,
      },
    );
  }
  // The server knows none of the protocols that were offered (RFC 7301, section 3.2).
  if (code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') {
    return new TransportError('ERR_RH_ALPN_MISMATCH', `${endpoint.origin} does not speak ${alpn}`, {
      cause,
    });
  }
  return new TransportError('ERR_RH_TLS_FAILED', `no TLS with ${endpoint.origin}: ${reasonOf(cause)}`, {
    cause,
  });
}

/** Several addresses may have been tried; then the reason is that of the first. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') {
    return reasonOf(cause.errors[0]);
  }
  if (!(cause instanceof Error)) {
    return String(cause);
  }
  // OpenSSL's message is a line of its own log; what a person can use of it is the reason.
  return 'reason' in cause && typeof cause.reason === 'string' ? cause.reason : cause.message;
}
