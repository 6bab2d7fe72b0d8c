/**
 * gRPC's framing of messages (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Length-Prefixed-Message"): a byte that
 * says whether it is compressed, four for the length, and the message.
 */

import { TunnelError } from '../errors.ts';

const messageHeadBytes = 5;

/** What Go's gRPC takes at most, and so what a server may send at most. */
const maxMessageBytes = 4 * 1_048_576;

export function messageHead(length: number): Buffer {
  const head = Buffer.alloc(messageHeadBytes);
  head.writeUInt32BE(length, 1);
  return head;
}

/** Finds the messages in what arrives. It copies only where one is spread over several chunks. */
export class MessageReader {
  readonly #onMessage: (message: Buffer) => void;
  /** The beginning of a message, and room for more of it: no more than twice what is there, and never more than the message. */
  #partial = Buffer.alloc(0);
  #length = 0;

  constructor(onMessage: (message: Buffer) => void) {
    this.#onMessage = onMessage;
  }

  /** Bytes of a message that is not complete. */
  get buffered(): number {
    return this.#length;
  }

  /** @throws ERR_RH_TUNNEL_PROTOCOL, and what `onMessage` throws */
  push(chunk: Buffer): void {
    let at = 0;
    while (this.#length > 0 && at < chunk.length) {
      const end = this.#length < messageHeadBytes ? messageHeadBytes : endOf(this.#partial, 0);
      at += this.#keep(chunk.subarray(at, at + end - this.#length), end);
      if (this.#length >= messageHeadBytes && this.#length === endOf(this.#partial, 0)) {
        const message = this.#partial.subarray(messageHeadBytes, this.#length);
        this.#partial = Buffer.alloc(0);
        this.#length = 0;
        this.#onMessage(message);
      }
    }
    while (chunk.length - at >= messageHeadBytes) {
      const end = endOf(chunk, at);
      if (end > chunk.length) {
        break;
      }
      const message = chunk.subarray(at + messageHeadBytes, end);
      at = end;
      this.#onMessage(message);
    }
    if (at < chunk.length) {
      this.#keep(chunk.subarray(at), chunk.length - at);
    }
  }

  /** @param most how long the part may become */
  #keep(bytes: Buffer, most: number): number {
    const length = this.#length + bytes.length;
    if (length > this.#partial.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, Math.min(most, 2 * length)));
      this.#partial.copy(larger, 0, 0, this.#length);
      this.#partial = larger;
    }
    bytes.copy(this.#partial, this.#length);
    this.#length = length;
    return bytes.length;
  }
}

/** Where the message ends that begins there with its head. */
function endOf(bytes: Buffer, at: number): number {
  return at + messageHeadBytes + lengthIn(bytes, at);
}

function lengthIn(bytes: Buffer, at: number): number {
  if (bytes[at] !== 0) {
    throw new TunnelError(
      'ERR_RH_TUNNEL_PROTOCOL',
      'the proxy-server sent a compressed message, which was not offered',
    );
  }
  const length = bytes.readUInt32BE(at + 1);
  if (length > maxMessageBytes) {
    throw new TunnelError(
      'ERR_RH_TUNNEL_PROTOCOL',
      `the proxy-server sent a message of ${length} bytes; ${maxMessageBytes} are allowed`,
    );
  }
  return length;
}
