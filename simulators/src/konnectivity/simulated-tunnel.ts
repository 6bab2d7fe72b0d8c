/** One stream of a `KonnectivityServer`, with what its client said, and the agent's connection behind it. */

import net, { type Socket } from 'node:net';
import type { ServerHttp2Stream } from 'node:http2';
import { frame, packetType, unframe, type SimPacket } from './packets.ts';

/** As agents read. */
const agentReadBytes = 4096;

export interface TunnelBehaviour {
  /** Does not answer dials. */
  readonly silent?: boolean;
  /** Answers dials with this error. */
  readonly refuse?: string;
  /** Does not answer a close, nor tell that the target has closed. */
  readonly keepCloses?: boolean;
}

export class SimulatedTunnel {
  readonly stream: ServerHttp2Stream;
  /** All that came, in order. */
  readonly received: SimPacket[] = [];
  /** The client has ended its side. */
  ended = false;
  closed = false;
  random = 0n;
  connectId = 0n;
  readonly #behaviour: () => TunnelBehaviour;
  readonly #resolve: (address: string) => { readonly host?: string; readonly port: number } | undefined;
  readonly #nextId: () => bigint;
  readonly #changed: () => void;
  #rest = Buffer.alloc(0);
  #upstream: Socket | undefined;

  constructor(
    stream: ServerHttp2Stream,
    parts: {
      readonly behaviour: () => TunnelBehaviour;
      readonly resolve: (address: string) => { readonly host?: string; readonly port: number } | undefined;
      readonly nextId: () => bigint;
      readonly changed: () => void;
    },
  ) {
    this.stream = stream;
    this.#behaviour = parts.behaviour;
    this.#resolve = parts.resolve;
    this.#nextId = parts.nextId;
    this.#changed = parts.changed;
    stream.on('error', () => undefined);
    stream.on('data', (chunk: Buffer) => {
      const { packets, rest } = unframe(Buffer.concat([this.#rest, chunk]));
      this.#rest = Buffer.from(rest);
      for (const packet of packets) this.#take(packet);
      this.#changed();
    });
    stream.once('end', () => {
      this.ended = true;
      this.finish();
      this.#changed();
    });
    stream.once('close', () => {
      this.closed = true;
      this.#upstream?.destroy();
      this.#changed();
    });
    stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
  }

  /** Types of the packets that came, those of data once for several. */
  get types(): readonly number[] {
    return this.received
      .map(({ type }) => type)
      .filter((type, index, all) => type !== 4 || all[index - 1] !== 4);
  }

  /** Says yes to the dial. */
  accept(connectId = this.#nextId()): void {
    this.connectId = connectId;
    this.send({ type: packetType.dialResponse, connectId, random: this.random });
  }

  send(...packets: readonly SimPacket[]): boolean {
    return this.raw(Buffer.concat(packets.map(frame)));
  }

  raw(bytes: Buffer): boolean {
    if (this.stream.destroyed || this.stream.writableEnded) return false;
    if (!this.stream.headersSent) {
      this.stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    }
    return this.stream.write(bytes);
  }

  /** Ends the call as a handler does that returns. */
  finish(): void {
    if (this.stream.destroyed || this.stream.writableEnded) return;
    if (!this.stream.headersSent) {
      this.stream.respond({ ':status': 200, 'content-type': 'application/grpc', 'grpc-status': '0' });
    }
    this.stream.end();
    this.#upstream?.destroy();
  }

  #take(packet: SimPacket): void {
    this.received.push(packet);
    const { silent = false, refuse, keepCloses = false } = this.#behaviour();
    if (packet.type === packetType.dialRequest) {
      this.random = packet.random ?? 0n;
      if (refuse !== undefined) {
        this.send({ type: packetType.dialResponse, error: refuse, random: this.random });
      } else if (!silent) {
        this.#connect(packet.address ?? '');
      }
    } else if (packet.type === packetType.data && packet.data !== undefined) {
      this.#upstream?.write(packet.data);
    } else if (packet.type === packetType.closeRequest) {
      this.#upstream?.destroy();
      if (!keepCloses) this.send({ type: packetType.closeResponse, connectId: packet.connectId ?? 0n });
    }
  }

  #connect(address: string): void {
    const target = this.#resolve(address);
    if (target === undefined) {
      this.send({ type: packetType.dialResponse, error: 'No agent available', random: this.random });
      return;
    }
    const upstream = net.connect({ host: target.host ?? '127.0.0.1', port: target.port, noDelay: true });
    this.#upstream = upstream;
    upstream.on('error', (error) => {
      if (this.connectId === 0n) {
        this.send({
          type: packetType.dialResponse,
          error: `dial tcp: ${error.message}`,
          random: this.random,
        });
      }
    });
    upstream.once('connect', () => this.accept());
    upstream.on('data', (chunk: Buffer) => {
      let room = true;
      for (let at = 0; at < chunk.length; at += agentReadBytes) {
        const data = chunk.subarray(at, at + agentReadBytes);
        room = this.send({ type: packetType.data, connectId: this.connectId, data });
      }
      if (!room) {
        upstream.pause();
        this.stream.once('drain', () => upstream.resume());
      }
    });
    upstream.once('close', () => {
      if (this.connectId !== 0n && !this.#behaviour().keepCloses) {
        this.send({ type: packetType.closeResponse, connectId: this.connectId });
      }
    });
  }
}
