/**
 * One tunnel's side of the protocol: from the dial request to the end of its stream, which outlives whoever used the tunnel. One stream
 * carries one connection. The states and what each packet means in them are in spec.md.
 */

import { randomBytes } from 'node:crypto';
import type { Clock, Timer } from './clock.ts';
import type { TunnelCounts } from './counts.ts';
import { TunnelError, wordsOf } from './errors.ts';
import type { DialFailureReason, TunnelErrorCode } from './errors.ts';
import type { TunnelLimits } from './limits.ts';
import { grpcCodeName, grpcCodes } from './session/grpc-status.ts';
import type { PacketStream, PacketStreamHandler, StreamEnding } from './session/packet-stream.ts';
import { decodePacket } from './wire/decode-packet.ts';
import {
  encodeCloseDial,
  encodeCloseRequest,
  encodeDataHead,
  encodeDialRequest,
} from './wire/encode-packet.ts';
import type { Int64, Packet } from './wire/packet.ts';

export type TunnelState = 'idle' | 'dialing' | 'open' | 'closing' | 'lingering' | 'done';

/** Who uses the connection. */
export interface TunnelEnd {
  onData(data: Buffer): void;
  /** The other side has closed, behind all data: in good order, or with an error. */
  onClosed(error: TunnelError | undefined): void;
  /** It broke off. */
  onLost(error: TunnelError): void;
}

export interface TunnelStreamOptions {
  /** `host:port` */
  readonly address: string;
  /** Of the proxy-server, for messages. */
  readonly server: string;
  readonly clock: Clock;
  readonly limits: TunnelLimits;
  readonly counts: TunnelCounts;
  /** Called once, when nothing of the stream is left. */
  readonly onDone: () => void;
}

/** A peer that sends more packets for others than this on one stream has lost count. */
const maxForeignPackets = 100;
const noAgent = /no (?:agent|backend)s? available/i;

export class TunnelStream implements PacketStreamHandler {
  readonly #options: TunnelStreamOptions;
  readonly #random = newRandom();
  readonly #answer = Promise.withResolvers<void>();
  #state: TunnelState = 'idle';
  #stream: PacketStream | undefined;
  #end: TunnelEnd | undefined;
  /** What the agent calls the connection; 0 until it is known. */
  #connectId: Int64 = 0;
  #timer: Timer | undefined;
  #foreign = 0;
  /** Whether the dial was given up, so that a yes has nobody to go to. */
  #abandoned = false;

  constructor(options: TunnelStreamOptions) {
    this.#options = options;
    this.#answer.promise.catch(() => undefined);
  }

  get state(): TunnelState {
    return this.#state;
  }

  get unread(): number {
    return this.#stream?.unread ?? 0;
  }

  /**
   * Sends the dial request, and resolves with the agent's yes; data may come right behind it, so `end` is told of it from then on.
   *
   * @param open makes the stream; what it throws is thrown
   * @throws ERR_RH_TUNNEL_NO_AGENT, ERR_RH_TUNNEL_DIAL, ERR_RH_TUNNEL_DIAL_LOST, ERR_RH_TUNNEL_SERVER, ERR_RH_TUNNEL_PROTOCOL
   */
  dial(open: (handler: PacketStreamHandler) => PacketStream, end: TunnelEnd): Promise<void> {
    this.#stream = open(this);
    this.#end = end;
    this.#to('dialing');
    this.#options.counts.packet('from_client', 'DIAL_REQ');
    this.#send(encodeDialRequest(this.#options.address, this.#random));
    return this.#answer.promise;
  }

  /** Nobody waits for the dial any more. A late yes is answered by a close. */
  abandon(error: unknown): void {
    if (this.#state !== 'dialing') {
      return;
    }
    this.#abandoned = true;
    this.#answer.reject(error);
    this.#options.counts.packet('from_client', 'DIAL_CLS');
    this.#send(encodeCloseDial(this.#random));
    this.#linger(false);
  }

  /** @param buffers of one packet */
  sendData(packets: readonly (readonly Buffer[])[], taken: (error?: Error | null) => void): void {
    if (this.#state !== 'open' || this.#stream === undefined) {
      process.nextTick(() => taken(this.endedError()));
      return;
    }
    const { counts } = this.#options;
    const messages = packets.map((buffers) => {
      const length = buffers.reduce((sum, buffer) => sum + buffer.length, 0);
      counts.packet('from_client', 'DATA');
      counts.bytesSent += length;
      return [encodeDataHead(this.#connectId, length), ...buffers];
    });
    this.#stream.send(messages, taken);
  }

  /** Nobody uses it any more: asks for a close, and sees to it that it ends. */
  close(): void {
    if (this.#state !== 'open') {
      return;
    }
    const { counts, clock, limits } = this.#options;
    counts.packet('from_client', 'CLOSE_REQ');
    this.#send(encodeCloseRequest(this.#connectId));
    this.#to('closing');
    // What is still on its way stands between us and the answer.
    this.#stream?.resume();
    this.#timer = clock.setTimeout(() => {
      counts.closeTimeouts += 1;
      this.#linger(true);
    }, limits.closeTimeoutMs);
  }

  /** Cuts it: nothing is sent any more. */
  destroy(error: TunnelError): void {
    this.#fail(error);
    this.#stream?.cancel();
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  endedError(): TunnelError {
    return new TunnelError(
      'ERR_RH_TUNNEL_ENDED',
      `the tunnel to ${this.#options.address} was closed by the other side (EPIPE)`,
    );
  }

  onMessage(message: Buffer): void {
    const packet = decodePacket(message);
    this.#options.counts.packet('to_client', packet.type);
    switch (packet.type) {
      case 'DIAL_RSP':
        this.#dialed(packet);
        break;
      case 'DATA':
        this.#received(packet);
        break;
      case 'CLOSE_RSP':
        this.#closed(packet);
        break;
      case 'DIAL_CLS':
        if (this.#state === 'dialing') {
          this.#refuse(this.#dialError('ERR_RH_TUNNEL_DIAL_LOST', 'dialclosed', 'it took the dial back'));
        }
        break;
      case 'DIAL_REQ':
      case 'CLOSE_REQ':
      case 'DRAIN':
      case 'Unknown':
        // What is not for clients: an agent's going away, and whatever later versions say.
        break;
    }
  }

  onEnd(ending: StreamEnding): void {
    if (ending.code !== grpcCodes.ok) {
      this.#options.counts.streamError('to_client', grpcCodeName(ending.code), 'Unknown');
    }
    this.#fail(this.#lostError(ending));
    this.#to('done');
    this.#options.onDone();
  }

  #dialed({ error, connectId, random }: Extract<Packet, { type: 'DIAL_RSP' }>): void {
    const { counts } = this.#options;
    // Servers of old leave the number out of their refusals.
    const ours = random === this.#random || (random === 0 && error !== '');
    if (this.#state === 'lingering' && this.#abandoned && ours) {
      this.#abandoned = false;
      if (error === '' && connectId !== 0) {
        counts.lateAnswers += 1;
        this.#connectId = connectId;
        this.#to('open');
        this.close();
      } else {
        this.#linger(true);
      }
      return;
    }
    if (this.#state !== 'dialing') {
      this.#isForeign();
      return;
    }
    if (!ours) {
      this.#refuse(this.#protocolError('it answered a dial that is not ours'));
    } else if (error !== '') {
      this.#refuse(this.#refusal(error));
    } else if (connectId === 0) {
      this.#refuse(this.#protocolError('it gave the connection no number'));
    } else {
      this.#connectId = connectId;
      this.#to('open');
      this.#answer.resolve();
    }
  }

  #received({ connectId, data }: Extract<Packet, { type: 'DATA' }>): void {
    if (this.#connectId === 0 || connectId !== this.#connectId) {
      this.#isForeign();
    } else if (this.#state === 'open' && data.length > 0) {
      this.#options.counts.bytesReceived += data.length;
      this.#end?.onData(data);
    }
  }

  #closed({ error, connectId }: Extract<Packet, { type: 'CLOSE_RSP' }>): void {
    if (this.#state === 'dialing') {
      this.#refuse(
        this.#dialError(
          'ERR_RH_TUNNEL_DIAL_LOST',
          'endpoint',
          error === '' ? 'it closed the dial' : wordsOf(error),
        ),
      );
    } else if (connectId !== this.#connectId || this.#connectId === 0) {
      this.#isForeign();
    } else if (this.#state === 'open') {
      const { address } = this.#options;
      this.#linger(true);
      this.#end?.onClosed(
        error === ''
          ? undefined
          : new TunnelError(
              'ERR_RH_TUNNEL_BROKEN',
              `the tunnel to ${address} was closed with an error: ${wordsOf(error)}`,
            ),
      );
    } else if (this.#state === 'closing') {
      this.#linger(true);
    }
  }

  #isForeign(): void {
    this.#options.counts.foreignPackets += 1;
    this.#foreign += 1;
    if (this.#foreign > maxForeignPackets) {
      this.destroy(this.#protocolError('it sends packets of connections that are not ours'));
    }
  }

  /** The dial has failed, and the server knows it. */
  #refuse(error: TunnelError): void {
    this.#answer.reject(error);
    this.#linger(true);
  }

  /** Waits for the end of the stream, for a while. @param ended whether we have nothing to say any more */
  #linger(ended: boolean): void {
    const { clock, limits } = this.#options;
    this.#to('lingering');
    this.#stream?.resume();
    if (ended) {
      this.#stream?.end();
      this.#timer = clock.setTimeout(() => this.#stream?.cancel(), limits.lingerTimeoutMs);
    } else {
      this.#timer = clock.setTimeout(() => {
        this.#abandoned = false;
        this.#linger(true);
      }, limits.lingerTimeoutMs);
    }
  }

  #fail(error: TunnelError): void {
    if (this.#state === 'dialing') {
      this.#to('lingering');
      this.#answer.reject(error);
    } else if (this.#state === 'open') {
      this.#to('lingering');
      this.#end?.onLost(error);
    }
  }

  #to(state: TunnelState): void {
    if (this.#state === 'done') {
      return;
    }
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#state = state;
  }

  #send(packet: Buffer): void {
    this.#stream?.send([[packet]]);
  }

  #refusal(text: string): TunnelError {
    return noAgent.test(text)
      ? this.#dialError('ERR_RH_TUNNEL_NO_AGENT', 'endpoint', wordsOf(text))
      : this.#dialError('ERR_RH_TUNNEL_DIAL', 'endpoint', wordsOf(text));
  }

  #lostError({ code, text, refused, cause, fault }: StreamEnding): TunnelError {
    if (fault !== undefined) {
      return fault;
    }
    const { address, server } = this.#options;
    const said = wordsOf(text);
    const words = `${grpcCodeName(code)}${said === '' ? '' : `: ${said}`}`;
    const data = { grpcCode: grpcCodeName(code), refused };
    if (this.#state !== 'dialing') {
      return new TunnelError(
        'ERR_RH_TUNNEL_LOST',
        `the tunnel to ${address} through ${server} broke off: ${words}`,
        { cause, data },
      );
    }
    if (code === grpcCodes.unimplemented) {
      return new TunnelError(
        'ERR_RH_TUNNEL_SERVER',
        `${server} does not serve gRPC tunnels (${words}); it may run in the mode http-connect, or be something else`,
        { cause, reason: 'tunnelclosed', data },
      );
    }
    return new TunnelError(
      'ERR_RH_TUNNEL_DIAL_LOST',
      `${server} ended the tunnel before ${address} was dialed: ${words}`,
      { cause, reason: 'tunnelclosed', data },
    );
  }

  #dialError(code: TunnelErrorCode, reason: DialFailureReason, words: string): TunnelError {
    const { address, server } = this.#options;
    return new TunnelError(code, `${address} could not be dialed through ${server}: ${words}`, { reason });
  }

  #protocolError(what: string): TunnelError {
    return new TunnelError(
      'ERR_RH_TUNNEL_PROTOCOL',
      `${this.#options.server} does not keep to the protocol: ${what}`,
      { reason: 'unknown' },
    );
  }
}

/**
 * The number of a dial. The proxy-server keeps the dials of all its clients under these numbers, so they are random and not counted: two
 * replicas that count from 1 would get each other's connections. 53 bits, never 0.
 */
export function newRandom(): number {
  for (;;) {
    const bytes = randomBytes(7);
    const random = bytes.readUIntBE(0, 6) * 32 + ((bytes[6] ?? 0) & 0x1f);
    if (random !== 0) {
      return random;
    }
  }
}
