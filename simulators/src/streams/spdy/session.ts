/**
 * A SPDY/3.1 session as client-go and the kubelet speak it (github.com/moby/spdystream): no flow control in either direction, data only
 * behind the SYN_REPLY, a PING that comes back. Owns the connection, the two compression states and the table of streams that live.
 */

import { ConnectionGone, ProtocolViolation, type ByteConnection } from '../byte-connection.ts';
import { fieldCompressor, fieldDecompressor, type FieldTransform } from './field-compression.ts';
import { encodeFields, parseFields, type SpdyFields } from './fields.ts';
import { SpdyFrameParser } from './frame-parser.ts';
import { encodeFrame, resetStatus, type SpdyFrame } from './frames.ts';
import { SpdyStream, StreamReset, type SpdyStreamOwner } from './stream.ts';

export interface SpdySessionOptions {
  readonly role: 'client' | 'server';
  /** Whether a stream that the peer opens is taken. Default: none is. */
  readonly accept?: (fields: SpdyFields) => boolean;
  /** A stream that was taken, and replied to: from now on data may be sent on it. */
  readonly opened?: (stream: SpdyStream) => void;
  /**
   * What streams are told when the peer ends the connection before them: that this is their end, as the kubelet does, or that they were
   * cut. Default: cut.
   */
  readonly atEnd?: 'end-streams' | 'cut-streams';
}

/** Beyond that many streams at once, further ones are refused. */
const maxStreams = 4096;

export class SpdySession implements SpdyStreamOwner, AsyncDisposable {
  readonly #connection: ByteConnection;
  readonly #options: SpdySessionOptions;
  readonly #streams = new Map<number, SpdyStream>();
  /** For streams that we have opened, until the peer replies. */
  readonly #replies = new Map<number, PromiseWithResolvers<void>>();
  readonly #pings = new Map<number, PromiseWithResolvers<void>>();
  readonly #compressor: FieldTransform = fieldCompressor();
  readonly #decompressor: FieldTransform = fieldDecompressor();
  /** Whatever has a header block goes in its order. */
  #blocks: Promise<void> = Promise.resolve();
  #nextStreamId: number;
  #nextPingId: number;
  #lastPeerStreamId = 0;
  /** Nothing comes any more; nothing is sent any more. */
  #readEnded = false;
  #ended = false;
  #goneAway = false;

  constructor(connection: ByteConnection, options: SpdySessionOptions) {
    this.#connection = connection;
    this.#options = options;
    this.#nextStreamId = options.role === 'client' ? 1 : 2;
    this.#nextPingId = this.#nextStreamId;
  }

  /** Streams of which at least one direction is open. */
  get streams(): number {
    return this.#streams.size;
  }

  /** Whether the peer said GOAWAY. */
  get goneAway(): boolean {
    return this.#goneAway;
  }

  /** Reads until the peer ends the connection. Rejects when it ends otherwise. Called once. */
  async run(): Promise<void> {
    const parser = new SpdyFrameParser();
    try {
      for await (const chunk of this.#connection.chunks()) {
        for (const frame of parser.push(chunk)) await this.#receive(frame);
      }
      if (!parser.betweenFrames) throw new ProtocolViolation('the connection ended within a frame');
      this.#finish(undefined);
    } catch (error) {
      this.#finish(error instanceof Error ? error : new ConnectionGone({ cause: error }));
      throw error;
    } finally {
      this.#compressor[Symbol.dispose]();
      this.#decompressor[Symbol.dispose]();
    }
  }

  /** Resolves when the peer has replied. Rejects when it refuses, or the session is over. */
  async open(fields: SpdyFields, { fin = false }: { readonly fin?: boolean } = {}): Promise<SpdyStream> {
    const id = this.#nextStreamId;
    this.#nextStreamId += 2;
    const stream = new SpdyStream(id, fields, this);
    const reply = Promise.withResolvers<void>();
    // The stream's end settles it, whether or not anybody has come to wait for it.
    reply.promise.catch(() => {});
    this.#streams.set(id, stream);
    this.#replies.set(id, reply);
    try {
      await this.#sendBlock(fields, (block) => ({
        type: 'syn-stream',
        streamId: id,
        associatedTo: 0,
        priority: 0,
        fin,
        unidirectional: false,
        block,
      }));
      await reply.promise;
    } finally {
      this.#replies.delete(id);
    }
    return stream;
  }

  /** Resolves when it has come back. */
  async ping(): Promise<void> {
    const id = this.#nextPingId;
    this.#nextPingId += 2;
    const answer = Promise.withResolvers<void>();
    answer.promise.catch(() => {});
    this.#pings.set(id, answer);
    await this.send({ type: 'ping', id });
    await answer.promise;
  }

  /** Announces that no further streams are taken. */
  async goAway(): Promise<void> {
    await this.send({ type: 'goaway', lastStreamId: this.#lastPeerStreamId, status: 0 });
  }

  /** Gives up the streams that we have not ended. */
  async resetStreams(): Promise<void> {
    const unended = [...this.#streams.values()].filter((stream) => !stream.localEnded);
    await Promise.all(unended.map(async (stream) => stream.reset()));
  }

  async send(frame: SpdyFrame): Promise<void> {
    if (this.#ended) throw new ConnectionGone();
    await this.#connection.write(encodeFrame(frame));
  }

  streamClosed(stream: SpdyStream): void {
    this.#streams.delete(stream.id);
    this.#replies.get(stream.id)?.reject(stream.failure ?? new ConnectionGone());
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#connection.destroy();
    this.#finish(new ConnectionGone());
    this.#compressor[Symbol.dispose]();
    this.#decompressor[Symbol.dispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.destroy();
    await this.#connection.closed;
  }

  async #sendBlock(fields: SpdyFields, frame: (block: Buffer) => SpdyFrame): Promise<void> {
    const sent = this.#blocks.then(async () => {
      if (this.#readEnded) throw new ConnectionGone();
      return this.send(frame(await this.#compressor.transform(encodeFields(fields))));
    });
    this.#blocks = sent.catch(() => {});
    await sent;
  }

  async #receive(frame: SpdyFrame): Promise<void> {
    switch (frame.type) {
      case 'data':
        await this.#streams.get(frame.streamId)?.receive(frame.data, frame.fin);
        return;
      case 'syn-stream':
        await this.#receiveStream(frame);
        return;
      case 'syn-reply':
        await this.#decompressor.transform(frame.block);
        this.#replies.get(frame.streamId)?.resolve();
        if (frame.fin) this.#streams.get(frame.streamId)?.receiveEnd();
        return;
      case 'headers':
        // Nobody sends them; their block belongs to the compression state all the same.
        await this.#decompressor.transform(frame.block);
        if (frame.fin) this.#streams.get(frame.streamId)?.receiveEnd();
        return;
      case 'rst-stream': {
        const stream = this.#streams.get(frame.streamId);
        stream?.fail(new StreamReset(frame.status));
        return;
      }
      case 'ping':
        if (frame.id % 2 === this.#nextPingId % 2) {
          this.#pings.get(frame.id)?.resolve();
          this.#pings.delete(frame.id);
        } else await this.#answer(frame);
        return;
      case 'goaway':
        this.#goneAway = true;
        return;
      case 'settings':
      case 'window-update':
      case 'unknown':
        return;
    }
  }

  async #receiveStream(frame: Extract<SpdyFrame, { type: 'syn-stream' }>): Promise<void> {
    const fields = parseFields(await this.#decompressor.transform(frame.block));
    const { streamId: id } = frame;
    const { accept, role } = this.#options;
    if (id % 2 !== (role === 'server' ? 1 : 0) || id <= this.#lastPeerStreamId) {
      await this.#answer({ type: 'rst-stream', streamId: id, status: resetStatus.protocolError });
      return;
    }
    this.#lastPeerStreamId = id;
    if (this.#streams.size >= maxStreams || accept?.(fields) !== true) {
      await this.#answer({ type: 'rst-stream', streamId: id, status: resetStatus.refusedStream });
      return;
    }
    const stream = new SpdyStream(id, fields, this);
    this.#streams.set(id, stream);
    if (frame.fin) stream.receiveEnd();
    await this.#sendBlock(new Map(), (block) => ({
      type: 'syn-reply',
      streamId: id,
      fin: false,
      block,
    })).catch(ignoreGone);
    this.#options.opened?.(stream);
  }

  /** Whoever cannot be answered any more will be noticed by reading. */
  async #answer(frame: SpdyFrame): Promise<void> {
    await this.send(frame).catch(ignoreGone);
  }

  #finish(reason: Error | undefined): void {
    const { atEnd = 'cut-streams' } = this.#options;
    this.#readEnded = true;
    // With the peer's direction alone at its end, ours goes on.
    const goesOn = reason === undefined && atEnd === 'end-streams';
    if (!goesOn) this.#ended = true;
    for (const stream of this.#streams.values()) {
      if (goesOn) stream.receiveEnd();
      else stream.fail(reason ?? new ConnectionGone());
    }
    for (const reply of this.#replies.values()) reply.reject(new ConnectionGone());
    for (const ping of this.#pings.values()) ping.reject(new ConnectionGone());
    this.#pings.clear();
  }
}

function ignoreGone(error: unknown): void {
  if (!(error instanceof ConnectionGone)) throw error;
}
