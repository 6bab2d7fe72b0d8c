/** Tunnels as streams of few sessions: the mode that proxy-servers run in unless they are told otherwise. */

import type { Duplex } from 'node:stream';
import { nameOf } from './dial-target.ts';
import type { TunnelTarget } from './dial-target.ts';
import { TunnelError } from './errors.ts';
import { dialOneOf } from './redial.ts';
import type { ServerIdentity } from './server-address.ts';
import { connectServer } from './session/connect-server.ts';
import { Http2Session } from './session/http2-session.ts';
import type { OpenSession, ProxyServer, ServerSnapshot } from './session/proxy-server.ts';
import { ProxyServers } from './session/proxy-servers.ts';
import type { TunnelSession } from './session/tunnel-session.ts';
import type { TargetPlace } from './target-places.ts';
import { Tunnel } from './tunnel.ts';
import { TunnelStream } from './tunnel-stream.ts';
import type { TunnelNumbers, Way, WayOptions } from './way.ts';

/** A dial that got no answer for so long says something of the session; one that was given up earlier, of its caller. */
const suspiciousMs = 1_000;

interface Live {
  readonly stream: TunnelStream;
  readonly tunnel: Tunnel;
}

export class GrpcTunnels implements Way {
  readonly #options: WayOptions;
  readonly #servers: ProxyServers;
  /** Each leaves when its stream has ended; bounded by `maxTunnels`. */
  readonly #live = new Set<Live>();

  /** @param open what carries the sessions; another than `node:http2` in tests */
  constructor(options: WayOptions, open: OpenSession = openHttp2(options)) {
    const { identity, resolve, clock, limits, counts, onChange } = options;
    this.#options = options;
    this.#servers = new ProxyServers({
      addresses: identity.addresses,
      resolve,
      clock,
      resolveMs: limits.resolveMs,
      server: {
        clock,
        limits,
        counts,
        open,
        onChange: () => {
          this.#servers.sweep();
          onChange();
        },
      },
    });
  }

  get empty(): boolean {
    return this.#live.size === 0 && this.#servers.all().every((server) => server.empty);
  }

  dial(target: TunnelTarget, place: TargetPlace, signal: AbortSignal): Promise<Duplex> {
    return dialOneOf(this.#servers, this.#options.counts, signal, (server) =>
      this.#attempt(server, target, place, signal),
    );
  }

  /** A tunnel has nothing below it that is its own. */
  bottomOf(): undefined {
    return undefined;
  }

  tunnels(): TunnelNumbers {
    const numbers = { dialing: 0, open: 0, closing: 0, bufferedBytes: 0 };
    for (const { stream, tunnel } of this.#live) {
      const { state } = stream;
      numbers[state === 'open' || state === 'dialing' ? state : 'closing'] += 1;
      numbers.bufferedBytes += tunnel.buffered;
    }
    return numbers;
  }

  servers(): readonly ServerSnapshot[] {
    return this.#servers.inspect();
  }

  retire(why: string): void {
    for (const server of this.#servers.all()) {
      server.retire(why);
    }
  }

  destroy(cause: Error): void {
    for (const { stream } of this.#live) {
      stream.destroy(
        cause instanceof TunnelError
          ? cause
          : new TunnelError('ERR_RH_TUNNEL_CLOSED', cause.message, { cause }),
      );
    }
    for (const server of this.#servers.all()) {
      server.destroy(cause);
    }
  }

  async #attempt(
    server: ProxyServer,
    target: TunnelTarget,
    place: TargetPlace,
    signal: AbortSignal,
  ): Promise<Tunnel> {
    const session = await server.reserve(signal);
    if (signal.aborted) {
      session.release();
      throw signal.reason;
    }
    const { clock, limits, counts } = this.#options;
    const stream: TunnelStream = new TunnelStream({
      address: nameOf(target),
      server: server.replica.name,
      clock,
      limits,
      counts,
      onDone: () => this.#ended(live, session, place),
    });
    const tunnel = new Tunnel({ target, stream, clock, limits, counts });
    const live: Live = { stream, tunnel };
    this.#live.add(live);
    place.keep();
    const askedAt = clock.now();
    const onAbort = (): void => {
      if (clock.now() - askedAt >= suspiciousMs) {
        session.suspect();
      }
      stream.abandon(signal.reason);
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await stream.dial((handler) => session.open(handler), tunnel);
      return tunnel;
    } catch (error) {
      if (stream.state === 'idle') {
        this.#ended(live, session, place);
      }
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #ended(live: Live, session: TunnelSession, place: TargetPlace): void {
    if (this.#live.delete(live)) {
      session.release();
      place.ended();
      this.#options.onChange();
    }
  }
}

function openHttp2({ identity, limits }: WayOptions): OpenSession {
  return async ({ address, ip, name }, events, signal) => {
    const socket = await connectServer({ address, ip, identity, protocol: 'h2' }, signal);
    const options = { server: name, origin: originOf(address, identity), windowBytes: limits.windowBytes };
    return Http2Session.open(socket, options, events, signal);
  };
}

/** As a gRPC client names whom it calls. */
function originOf(address: ServerIdentity['addresses'][number], { serverName }: ServerIdentity): string {
  return address.kind === 'unix'
    ? 'http://localhost'
    : `https://${nameOf({ host: serverName ?? address.host, port: address.port })}`;
}
