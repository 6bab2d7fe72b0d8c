/**
 * A WebSocket connection behind its handshake (RFC 6455): whole messages, pings that are answered, and a close that is one frame each
 * way. When the TCP connection ends is left to whoever has opened it. Owns the byte connection below.
 */

import { ConnectionGone, ProtocolViolation, type ByteConnection } from '../byte-connection.ts';
import { WebSocketFrameParser } from './frame-parser.ts';
import { encodeWebSocketFrame, opcode, type Opcode, type WebSocketFrame } from './frames.ts';

export interface WebSocketMessage {
  readonly text: boolean;
  readonly data: Buffer;
}

/** Of one message, in however many frames. */
const maxMessageBytes = 4 * 1024 * 1024;

export class WebSocketConnection {
  readonly #connection: ByteConnection;
  readonly #role: 'client' | 'server';
  #pending: { readonly text: boolean; readonly parts: Buffer[]; bytes: number } | undefined;
  #closeSent = false;
  #closeCode: number | undefined;
  /** Pings that have not come back, the oldest first. */
  readonly #pings: PromiseWithResolvers<void>[] = [];

  constructor(connection: ByteConnection, role: 'client' | 'server') {
    this.#connection = connection;
    this.#role = role;
  }

  /** What the peer's close frame said; 1005 when it said nothing, undefined while there is none. */
  get closeCode(): number | undefined {
    return this.#closeCode;
  }

  /** To the peer's close frame, or the end of the connection. Rejects when it ends otherwise. Read by one, once. */
  async *messages(): AsyncGenerator<WebSocketMessage, void> {
    const parser = new WebSocketFrameParser(this.#role === 'server' ? 'client' : 'server');
    try {
      for await (const chunk of this.#connection.chunks()) {
        for (const frame of parser.push(chunk)) {
          const message = await this.#receive(frame);
          if (message !== undefined) yield message;
          if (this.#closeCode !== undefined) return;
        }
      }
      if (!parser.betweenFrames) throw new ProtocolViolation('the connection ended within a frame');
    } catch (error) {
      if (error instanceof ProtocolViolation) await this.close(1002).catch(() => {});
      throw error;
    } finally {
      for (const { reject } of this.#pings.splice(0)) reject(new ConnectionGone());
    }
  }

  async send(data: Uint8Array, { text = false }: { readonly text?: boolean } = {}): Promise<void> {
    if (this.#closeSent) throw new ConnectionGone();
    await this.#write(
      text ? opcode.text : opcode.binary,
      Buffer.from(data.buffer, data.byteOffset, data.length),
    );
  }

  /** Resolves when it has come back. Rejects when nothing comes any more. */
  async ping(): Promise<void> {
    const answer = Promise.withResolvers<void>();
    answer.promise.catch(() => {});
    this.#pings.push(answer);
    await this.#write(opcode.ping, Buffer.alloc(0));
    await answer.promise;
  }

  /** Sends the close frame, once. */
  async close(code = 1000): Promise<void> {
    if (this.#closeSent) return;
    this.#closeSent = true;
    const payload = Buffer.alloc(2);
    payload.writeUInt16BE(code);
    await this.#write(opcode.close, payload);
  }

  async #receive(frame: WebSocketFrame): Promise<WebSocketMessage | undefined> {
    switch (frame.opcode) {
      case opcode.ping:
        if (!this.#closeSent) await this.#write(opcode.pong, frame.payload).catch(() => {});
        return undefined;
      case opcode.pong:
        this.#pings.shift()?.resolve();
        return undefined;
      case opcode.close:
        if (frame.payload.length === 1) throw new ProtocolViolation('a close frame of one byte');
        this.#closeCode = frame.payload.length === 0 ? 1005 : frame.payload.readUInt16BE();
        await this.close(this.#closeCode === 1005 ? 1000 : this.#closeCode).catch(() => {});
        return undefined;
      case opcode.continuation:
      case opcode.text:
      case opcode.binary:
        return this.#assemble(frame);
    }
  }

  #assemble({ opcode: code, fin, payload }: WebSocketFrame): WebSocketMessage | undefined {
    if ((code === opcode.continuation) !== (this.#pending !== undefined))
      throw new ProtocolViolation('a message within another, or the continuation of none');
    const pending = this.#pending ?? { text: code === opcode.text, parts: [], bytes: 0 };
    pending.parts.push(payload);
    pending.bytes += payload.length;
    if (pending.bytes > maxMessageBytes) throw new ProtocolViolation(`a message of ${pending.bytes} bytes`);
    this.#pending = fin ? undefined : pending;
    if (!fin) return undefined;
    const [only] = pending.parts;
    const whole = pending.parts.length === 1 && only !== undefined ? only : Buffer.concat(pending.parts);
    return { text: pending.text, data: whole };
  }

  async #write(code: Opcode, payload: Buffer): Promise<void> {
    const mask = this.#role === 'client' ? 'masked' : 'plain';
    await this.#connection.write(encodeWebSocketFrame({ fin: true, opcode: code, payload }, mask));
  }
}
