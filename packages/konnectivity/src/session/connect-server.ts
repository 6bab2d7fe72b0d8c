/** A connection to a proxy-server: TCP with TLS, or a Unix socket. Until it is handed over, what is half-open is ended here. */

import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { TunnelError, wordsOf } from '../errors.ts';
import { serverNameOption } from '../server-address.ts';
import type { ServerAddress, ServerIdentity } from '../server-address.ts';

export interface ServerWay {
  readonly address: ServerAddress;
  /** For TCP: what to connect to, of the addresses that the host's name has. */
  readonly ip: string | undefined;
  readonly identity: ServerIdentity;
  readonly protocol: 'h2' | 'http/1.1';
}

/** TCP keep-alive probes start after this time without data. Unlike HTTP/2's they are nobody's business but the kernel's. */
const keepAliveInitialDelayMs = 30_000;

/**
 * @throws ERR_RH_TUNNEL_SERVER, ERR_RH_TUNNEL_UNTRUSTED, and the signal's reason
 */
export function connectServer(way: ServerWay, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const bare = open(way);
    const { context } = way.identity;
    const socket = context === undefined || way.address.kind === 'unix' ? bare : secure(bare, way, context);
    const event = socket === bare ? 'connect' : 'secureConnect';
    const settle = (): void => {
      socket.off(event, onOpen);
      socket.off('error', onError);
      socket.off('close', onClose);
      bare.off('error', onError);
      signal.removeEventListener('abort', onAbort);
    };
    const fail = (error: unknown): void => {
      settle();
      // An error that comes late must not end the process.
      socket.on('error', () => undefined);
      bare.on('error', () => undefined);
      socket.destroy();
      bare.destroy();
      reject(error);
    };
    const onOpen = (): void => {
      settle();
      socket.on('error', () => undefined);
      resolve(socket);
    };
    const onError = (cause: Error): void => fail(serverError(way.address.name, cause));
    const onClose = (): void => onError(new Error('the connection ended before it was ready'));
    const onAbort = (): void => fail(signal.reason);
    socket.once(event, onOpen);
    socket.once('error', onError);
    socket.once('close', onClose);
    if (bare !== socket) {
      bare.once('error', onError);
    }
    signal.addEventListener('abort', onAbort, { once: true });
  });
}

function open({ address, ip }: ServerWay): Socket {
  return address.kind === 'unix'
    ? connect({ path: address.path })
    : connect({
        host: ip ?? address.host,
        port: address.port,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: keepAliveInitialDelayMs,
      });
}

function secure(
  bare: Socket,
  { address, identity, protocol }: ServerWay,
  context: NonNullable<ServerIdentity['context']>,
): Socket {
  const name = identity.serverName ?? (address.kind === 'tcp' ? address.host : 'localhost');
  return connectTls({
    socket: bare,
    secureContext: context,
    // No session is ever resumed: Node.js would not verify the peer again.
    rejectUnauthorized: true,
    host: name,
    ...serverNameOption(name),
    ALPNProtocols: [protocol],
  });
}

/** OpenSSL's verification results as Node.js names them, and the alerts with which a server refuses our certificate. */
const untrusted =
  /^(?:CERT_|CRL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_(?:CA|PURPOSE)|PATH_LENGTH|HOSTNAME_MISMATCH|ERR_TLS_CERT_ALTNAME_INVALID)/;
const refusesUs =
  /ALERT_(?:CERTIFICATE|BAD_CERTIFICATE|UNSUPPORTED_CERTIFICATE|UNKNOWN_CA|ACCESS_DENIED|DECRYPT_ERROR|HANDSHAKE_FAILURE)|CERTIFICATE_REQUIRED/;

/** What went wrong on the way to a session. */
export function serverError(server: string, cause: Error): TunnelError {
  if (cause instanceof TunnelError) {
    return cause;
  }
  const code = 'code' in cause ? String(cause.code) : '';
  const details = { cause, reason: 'streamsetup' } as const;
  if (untrusted.test(code)) {
    return new TunnelError(
      'ERR_RH_TUNNEL_UNTRUSTED',
      `the proxy-server ${server} is not trusted: ${reasonOf(cause)}`,
      details,
    );
  }
  if (refusesUs.test(code)) {
    return new TunnelError(
      'ERR_RH_TUNNEL_UNTRUSTED',
      `the proxy-server ${server} does not take our client certificate: ${reasonOf(cause)}`,
      details,
    );
  }
  return new TunnelError(
    'ERR_RH_TUNNEL_SERVER',
    `no session with the proxy-server ${server}: ${reasonOf(cause)}`,
    details,
  );
}

/** Several addresses may have been tried; then the reason is that of the first. */
function reasonOf(cause: unknown): string {
  if (cause instanceof AggregateError && cause.message === '') {
    return reasonOf(cause.errors[0]);
  }
  if (!(cause instanceof Error)) {
    return wordsOf(String(cause));
  }
  // OpenSSL's message is a line of its own log; what a person can use of it is the reason.
  return wordsOf('reason' in cause && typeof cause.reason === 'string' ? cause.reason : cause.message);
}
