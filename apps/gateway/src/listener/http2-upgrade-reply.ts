/** WebSockets over HTTP/2 (RFC 8441): the stream of an extended CONNECT is the connection. */

import type { ServerHttp2Stream } from 'node:http2';
import { Http2Reply } from './http2-reply.ts';
import type { SessionSide, UpgradeReply } from './upgrade-reply.ts';

export class Http2UpgradeReply extends Http2Reply implements UpgradeReply {
  readonly #stream: ServerHttp2Stream;
  #relayed = 0;

  constructor(stream: ServerHttp2Stream) {
    super(stream);
    this.#stream = stream;
  }

  override get bytesOut(): number {
    return super.bytesOut + this.#relayed;
  }

  switchProtocols(_protocol: string, fields: readonly string[]): SessionSide {
    const stream = this.#stream;
    this.onClosed = undefined;
    this.onDrain = undefined;
    this.start(200, fields);
    // RST_STREAM is what RST is over TCP (RFC 8441, section 5).
    return { socket: stream, reset: () => this.reset(), look: () => closeWhenReset(stream) };
  }

  relayed(bytes: number): void {
    this.#relayed += bytes;
  }
}

/** Node.js keeps a stream that was reset for as long as something of it is unread. */
function closeWhenReset(stream: ServerHttp2Stream): void {
  if (stream.aborted || (stream.rstCode ?? 0) !== 0) {
    stream.destroy();
  }
}
