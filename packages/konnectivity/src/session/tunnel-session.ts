/** One session with a proxy-server and the tunnels on it: how many there may be, how long it stays without any, whether it lives. */

import type { Clock, Timer } from '../clock.ts';
import type { TunnelCounts } from '../counts.ts';
import { TunnelError } from '../errors.ts';
import type { TunnelLimits } from '../limits.ts';
import type { PacketSession, PacketStream, PacketStreamHandler } from './packet-stream.ts';

export interface TunnelSessionOptions {
  /** Of the proxy-server, for messages. */
  readonly server: string;
  readonly clock: Clock;
  readonly limits: TunnelLimits;
  readonly counts: TunnelCounts;
  /** How often it is asked whether it lives, while it has tunnels; 0: never. */
  readonly keepAliveMs: number;
  /** Called once, when it is closed. */
  readonly onClosed: (session: TunnelSession) => void;
}

export interface SessionSnapshot {
  readonly state: 'open' | 'draining' | 'closed';
  /** Streams that are open or reserved, those that are being closed included. */
  readonly tunnels: number;
  readonly ageMs: number;
  /** Why it takes no new tunnels. */
  readonly draining: string | undefined;
}

export class TunnelSession {
  readonly #options: TunnelSessionOptions;
  readonly #openedAt: number;
  #session: PacketSession | undefined;
  #state: SessionSnapshot['state'] = 'open';
  #draining: string | undefined;
  #tunnels = 0;
  /** Until it is closed for being idle, or asked whether it lives. */
  #timer: Timer | undefined;
  /** While it is asked. */
  #asking: Timer | undefined;
  /** Never earlier than the server allows. */
  #mayAskAt: number;
  readonly #keepAliveMs: number;

  constructor(options: TunnelSessionOptions) {
    this.#options = options;
    this.#openedAt = options.clock.now();
    this.#keepAliveMs = options.keepAliveMs;
    this.#mayAskAt = this.#openedAt;
  }

  /** What carries it. Called once, before all else. */
  carry(session: PacketSession): void {
    this.#session = session;
    this.#rest();
  }

  get tunnels(): number {
    return this.#tunnels;
  }

  get hasRoom(): boolean {
    return (
      this.#state === 'open' &&
      this.#session !== undefined &&
      this.#tunnels < Math.min(this.#options.limits.maxTunnelsPerSession, this.#session.maxStreams)
    );
  }

  /** Reserves a stream; `release` or the end of the stream gives it back. Only while it has room. */
  reserve(): void {
    this.#tunnels += 1;
    if (this.#tunnels === 1) {
      this.#timer?.cancel();
      this.#keepAlive();
    }
  }

  release(): void {
    this.#tunnels -= 1;
    if (this.#tunnels === 0) {
      this.#rest();
    }
  }

  /** @throws ERR_RH_TUNNEL_SERVER */
  open(handler: PacketStreamHandler): PacketStream {
    if (this.#session === undefined || this.#state === 'closed') {
      throw new TunnelError(
        'ERR_RH_TUNNEL_SERVER',
        `the session with the proxy-server ${this.#options.server} has just ended`,
        { reason: 'streamsetup', data: { refused: true } },
      );
    }
    return this.#session.open(handler);
  }

  /** A dial got no answer. If nothing else comes either, the session is asked whether it lives, as often as the server allows it. */
  suspect(): void {
    if (this.#keepAliveMs > 0 && this.#options.clock.now() >= this.#mayAskAt) {
      this.#ask();
    }
  }

  /** Takes no new tunnels, and closes behind the last. */
  drain(why: string): void {
    if (this.#state === 'open') {
      this.#state = 'draining';
      this.#draining = why;
      if (this.#tunnels === 0) {
        this.#rest();
      }
    }
  }

  destroy(cause: Error): void {
    this.#state = this.#state === 'closed' ? 'closed' : 'draining';
    this.#session?.destroy(cause);
  }

  /** For what carries it. */
  closed(): void {
    if (this.#state !== 'closed') {
      this.#state = 'closed';
      this.#timer?.cancel();
      this.#asking?.cancel();
      this.#options.onClosed(this);
    }
  }

  inspect(): SessionSnapshot {
    return {
      state: this.#state,
      tunnels: this.#tunnels,
      ageMs: this.#options.clock.now() - this.#openedAt,
      draining: this.#draining,
    };
  }

  /** Without tunnels. No pings then: servers count those as too many. */
  #rest(): void {
    const { clock, limits } = this.#options;
    this.#timer?.cancel();
    this.#asking?.cancel();
    this.#asking = undefined;
    if (this.#state === 'closed') {
      return;
    }
    if (this.#state === 'draining') {
      this.#session?.close();
      return;
    }
    this.#timer = clock.setTimeout(() => this.drain('it was idle'), limits.sessionIdleMs);
  }

  #keepAlive(): void {
    if (this.#keepAliveMs > 0 && this.#state !== 'closed') {
      const { clock } = this.#options;
      this.#timer = clock.setTimeout(
        () => {
          this.#ask();
          this.#keepAlive();
        },
        Math.max(this.#mayAskAt - clock.now(), this.#keepAliveMs),
      );
    }
  }

  #ask(): void {
    const { clock, limits, server } = this.#options;
    if (this.#asking !== undefined) {
      return;
    }
    this.#mayAskAt = clock.now() + this.#keepAliveMs;
    const asking = clock.setTimeout(() => {
      this.drain('it is silent');
      this.destroy(
        new Error(`the proxy-server ${server} did not answer a ping for ${limits.keepAliveTimeoutMs} ms`),
      );
    }, limits.keepAliveTimeoutMs);
    this.#asking = asking;
    this.#session?.ping(() => {
      asking.cancel();
      if (this.#asking === asking) {
        this.#asking = undefined;
      }
    });
  }
}
