/** One proxy-server at one address: its sessions, the one that is being set up, and for how long it is left alone after a failure. */

import type { Timer } from '../clock.ts';
import { TunnelError } from '../errors.ts';
import type { ServerAddress } from '../server-address.ts';
import type { PacketSession, PacketSessionEvents } from './packet-stream.ts';
import { TunnelSession } from './tunnel-session.ts';
import type { SessionSnapshot, TunnelSessionOptions } from './tunnel-session.ts';

export interface Replica {
  readonly address: ServerAddress;
  /** For TCP: of the addresses that the host's name has, this one. */
  readonly ip: string | undefined;
  /** For messages. */
  readonly name: string;
}

/**
 * @throws ERR_RH_TUNNEL_SERVER, ERR_RH_TUNNEL_UNTRUSTED, and the signal's reason
 */
export type OpenSession = (
  replica: Replica,
  events: PacketSessionEvents,
  signal: AbortSignal,
) => Promise<PacketSession>;

export type ProxyServerOptions = Omit<TunnelSessionOptions, 'server' | 'keepAliveMs' | 'onClosed'> & {
  readonly open: OpenSession;
  /** Called when a session has closed. */
  readonly onChange: () => void;
};

export interface ServerSnapshot {
  readonly server: string;
  readonly sessions: readonly SessionSnapshot[];
  readonly connecting: boolean;
  /** Failures to make a session, one after the other. */
  readonly failures: number;
  readonly lastError: string | undefined;
}

interface SetUp {
  readonly promise: Promise<void>;
  readonly controller: AbortController;
  waiting: number;
}

const firstBackOffMs = 50;
/** Of a server that has said twice and more that it is asked too often. */
const longestKeepAliveMs = 4 * 3_600_000;

export class ProxyServer {
  readonly replica: Replica;
  readonly #options: ProxyServerOptions;
  /** Each takes itself out when it is closed; bounded by the number of tunnels. */
  readonly #sessions = new Set<TunnelSession>();
  /** Connections that are a tunnel each, of the mode without sessions. */
  #connections = 0;
  #setUp: SetUp | undefined;
  /** Longer than it was set when the server has asked for that. */
  #keepAliveMs: number;
  #failures = 0;
  #lastError: unknown;
  #backOff: Timer | undefined;
  #retired: string | undefined;

  constructor(replica: Replica, options: ProxyServerOptions) {
    this.replica = replica;
    this.#options = options;
    this.#keepAliveMs = options.limits.keepAliveMs;
  }

  get tunnels(): number {
    let tunnels = this.#connections;
    for (const session of this.#sessions) {
      tunnels += session.tunnels;
    }
    return tunnels;
  }

  /** Whether it was tried a moment ago, in vain. */
  get resting(): boolean {
    return this.#backOff !== undefined;
  }

  get hasRoom(): boolean {
    return [...this.#sessions].some((session) => session.hasRoom);
  }

  /** Nothing is left of it. */
  get empty(): boolean {
    return this.#sessions.size === 0 && this.#setUp === undefined && this.#connections === 0;
  }

  /** A connection that is a tunnel has begun, or ended. */
  counted(change: 1 | -1): void {
    this.#connections += change;
  }

  /**
   * A reserved stream on a session that has room; a new session where none has, for all who wait for it at the same time.
   *
   * @throws ERR_RH_TUNNEL_SERVER, ERR_RH_TUNNEL_UNTRUSTED, and the signal's reason
   */
  async reserve(signal: AbortSignal): Promise<TunnelSession> {
    for (;;) {
      signal.throwIfAborted();
      const session = [...this.#sessions].find(({ hasRoom }) => hasRoom);
      if (session !== undefined) {
        session.reserve();
        return session;
      }
      if (this.#retired !== undefined) {
        throw this.#unusable(this.#retired);
      }
      if (this.#backOff !== undefined) {
        throw this.#lastError;
      }
      this.#setUp ??= this.#begin();
      await this.#join(this.#setUp, signal);
    }
  }

  /** No new tunnels; sessions close behind their last. */
  retire(why: string): void {
    this.#retired = why;
    for (const session of this.#sessions) {
      session.drain(why);
    }
  }

  /** For a retired one that is there again. */
  restore(): void {
    this.#retired = undefined;
  }

  destroy(cause: Error): void {
    this.retire(cause.message);
    this.#setUp?.controller.abort(cause);
    this.#backOff?.cancel();
    this.#backOff = undefined;
    for (const session of this.#sessions) {
      session.destroy(cause);
    }
  }

  inspect(): ServerSnapshot {
    const error = this.#lastError;
    return {
      server: this.replica.name,
      sessions: [...this.#sessions].map((session) => session.inspect()),
      connecting: this.#setUp !== undefined,
      failures: this.#failures,
      lastError: error instanceof Error ? error.message : undefined,
    };
  }

  #begin(): SetUp {
    const controller = new AbortController();
    const promise = this.#open(controller).finally(() => {
      if (this.#setUp === setUp) {
        this.#setUp = undefined;
      }
      this.#options.onChange();
    });
    const setUp: SetUp = { promise, controller, waiting: 0 };
    // Its failure is for those who wait.
    promise.catch(() => undefined);
    return setUp;
  }

  async #open(controller: AbortController): Promise<void> {
    const { counts, clock, limits, open } = this.#options;
    const { signal } = controller;
    const shared = new TunnelSession({
      server: this.replica.name,
      clock,
      limits,
      counts,
      keepAliveMs: this.#keepAliveMs,
      onClosed: (session) => {
        this.#sessions.delete(session);
        this.#options.onChange();
      },
    });
    const events: PacketSessionEvents = {
      onDraining: (why) => {
        counts.goaways += 1;
        if (why.includes('ENHANCE_YOUR_CALM')) {
          this.#keepAliveMs = Math.min(2 * this.#keepAliveMs, longestKeepAliveMs);
        }
        shared.drain(why);
      },
      onClosed: () => shared.closed(),
    };
    const timer = clock.setTimeout(
      () => controller.abort(this.#unusable('it did not answer in time')),
      limits.dialTimeoutMs,
    );
    try {
      const session = await open(this.replica, events, signal);
      shared.carry(session);
      counts.sessionsOpened += 1;
      this.#failures = 0;
      this.#lastError = undefined;
      this.#sessions.add(shared);
      if (this.#retired !== undefined) {
        shared.drain(this.#retired);
      }
    } catch (error) {
      // What nobody waits for any more is no failure of the server.
      if (!signal.aborted || error instanceof TunnelError) {
        counts.sessionsFailed += 1;
        this.#failed(error);
      }
      throw error;
    } finally {
      timer.cancel();
    }
  }

  #failed(error: unknown): void {
    const { clock, limits } = this.#options;
    this.#failures += 1;
    this.#lastError = error;
    const ms = Math.min(firstBackOffMs * 2 ** Math.min(this.#failures - 1, 20), limits.maxBackOffMs);
    if (ms > 0 && this.#retired === undefined) {
      this.#backOff?.cancel();
      this.#backOff = clock.setTimeout(() => {
        this.#backOff = undefined;
      }, ms);
    }
  }

  /** When the last of those who wait has gone, it is given up. */
  async #join(setUp: SetUp, signal: AbortSignal): Promise<void> {
    const { promise, reject } = Promise.withResolvers<never>();
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    setUp.waiting += 1;
    try {
      await Promise.race([setUp.promise, promise]);
    } finally {
      signal.removeEventListener('abort', onAbort);
      setUp.waiting -= 1;
      if (setUp.waiting === 0 && this.#setUp === setUp) {
        setUp.controller.abort(new Error('nobody waits for the session any more'));
        this.#setUp = undefined;
      }
    }
  }

  #unusable(why: string): TunnelError {
    return new TunnelError(
      'ERR_RH_TUNNEL_SERVER',
      `no session with the proxy-server ${this.replica.name}: ${why}`,
      { reason: 'streamsetup' },
    );
  }
}
