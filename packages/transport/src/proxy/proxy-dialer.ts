/**
 * The way through a proxy, as a dialer: reach the proxy (over TLS where it is an https one, verified), ask it for the
 * endpoint, hand the tunnel over. Whatever goes wrong on the way ends the connection to the proxy here.
 */

import type { Duplex } from 'node:stream';
import { directDialer } from '../dialer.ts';
import type { DialTarget, Dialer } from '../dialer.ts';
import { TransportError } from '../errors.ts';
import { createTlsState, dialEndpoint } from '../secure-dial.ts';
import type { TlsState } from '../secure-dial.ts';
import { HandshakeBytes } from './handshake-bytes.ts';
import { askConnect } from './http-connect.ts';
import { nameOf, parseProxy } from './proxy-address.ts';
import type { ProxyAddress, ProxyOptions, ProxyScheme } from './proxy-address.ts';
import { askSocks5, resolvedHere } from './socks5.ts';

/** Asks for a tunnel on a fresh connection to the proxy, and takes its answer, no byte more. Whoever calls ends the socket. */
type AskProxy = (
  socket: Duplex,
  answer: HandshakeBytes,
  target: DialTarget,
  proxy: ProxyAddress,
) => Promise<void>;

const askBy: Readonly<Record<ProxyScheme, AskProxy>> = {
  http: askConnect,
  https: askConnect,
  socks5: askSocks5,
  socks5h: askSocks5,
};

/**
 * A dialer through an HTTP CONNECT or SOCKS5 proxy. Two of equal address, credentials and trust have one id, within one
 * process. An https proxy is always verified; the TLS sessions with it are the dialer's own.
 *
 * What its dials reject with: ERR_RH_PROXY_FAILED, ERR_RH_PROXY_AUTH, ERR_RH_PROXY_REFUSED, ERR_RH_DIAL_FAILED (a name
 * that is to be resolved here is not known), or what the signal was aborted with.
 *
 * @throws ERR_RH_PROXY_URL_INVALID, ERR_RH_ENDPOINT_INVALID
 */
export function proxyDialer(options: ProxyOptions): Dialer {
  const proxy = parseProxy(options);
  let tls: TlsState | undefined;
  /** TCP by the TLS over it. */
  const bottoms = new WeakMap<Duplex, Duplex>();
  const reach = async (signal: AbortSignal): Promise<Duplex> => {
    const { endpoint } = proxy;
    if (endpoint.scheme === 'http') {
      return directDialer.dial({ host: endpoint.host, port: endpoint.port }, { signal });
    }
    tls ??= createTlsState(endpoint);
    const { socket, bare } = await dialEndpoint(endpoint, tls, 'http/1.1', signal);
    bottoms.set(socket, bare);
    return socket;
  };
  return {
    id: proxy.id,
    bottomOf: (connection) => bottoms.get(connection),
    async dial(target, { signal }) {
      const wanted = proxy.scheme === 'socks5' ? await resolvedHere(target) : target;
      signal.throwIfAborted();
      const socket = await reach(signal).catch((cause: unknown) => {
        throw failureOf(proxy, 'cannot be reached', signal, cause);
      });
      // Whoever owns it next hears of its end by 'close'.
      socket.on('error', () => undefined);
      try {
        const answer = new HandshakeBytes(socket, signal);
        await askBy[proxy.scheme](socket, answer, wanted, proxy);
        answer.giveBack();
        return socket;
      } catch (cause) {
        socket.destroy();
        throw failureOf(proxy, `did not answer for ${nameOf(target)}`, signal, cause);
      }
    },
  };
}

function failureOf({ name }: ProxyAddress, what: string, signal: AbortSignal, cause: unknown): unknown {
  if (signal.aborted) {
    return signal.reason;
  }
  if (cause instanceof TransportError && cause.code.startsWith('ERR_RH_PROXY_')) {
    return cause;
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new TransportError('ERR_RH_PROXY_FAILED', `the proxy ${name} ${what}: ${reason}`, { cause });
}
