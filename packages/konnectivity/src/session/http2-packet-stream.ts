import { constants } from 'node:http2';
import type { ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';
import { TunnelError, wordsOf } from '../errors.ts';
import { MessageReader, messageHead } from '../wire/grpc-messages.ts';
import { grpcCodeIn, grpcCodeOfHttp, grpcCodeOfReset, grpcCodes, grpcMessageIn } from './grpc-status.ts';
import type { PacketStream, PacketStreamHandler, StreamEnding } from './packet-stream.ts';

/** Of an answer that is not gRPC, so much may be in a message. */
const maxForeignBytes = 512;

export class Http2PacketStream implements PacketStream {
  readonly #stream: ClientHttp2Stream;
  readonly #handler: PacketStreamHandler;
  readonly #sessionLost: () => Error | undefined;
  readonly #reader: MessageReader;
  #status: { readonly code: number; readonly text: string } | undefined;
  /** The beginning of the body of an answer that is not gRPC. */
  #foreign: { readonly status: number; text: string } | undefined;
  #fault: TunnelError | undefined;
  #cause: Error | undefined;
  #ended = false;

  constructor(stream: ClientHttp2Stream, handler: PacketStreamHandler, sessionLost: () => Error | undefined) {
    this.#stream = stream;
    this.#handler = handler;
    this.#sessionLost = sessionLost;
    this.#reader = new MessageReader((message) => {
      if (!this.#ended) {
        handler.onMessage(message);
      }
    });
    stream.on('response', (fields) => this.#answered(fields));
    stream.on('trailers', (fields) => this.#readStatus(fields));
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('error', (cause: Error) => {
      this.#cause ??= cause;
    });
    stream.once('end', () => this.#finished());
    stream.once('close', () => this.#end());
  }

  get unread(): number {
    return this.#stream.readableLength + this.#reader.buffered;
  }

  send(messages: readonly (readonly Buffer[])[], taken?: (error?: Error | null) => void): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) {
      // As a stream does: never in the middle of the call.
      process.nextTick(() => taken?.(new Error('the stream has ended')));
      return;
    }
    stream.cork();
    for (const [index, message] of messages.entries()) {
      stream.write(messageHead(message.reduce((sum, part) => sum + part.length, 0)));
      for (const [at, part] of message.entries()) {
        const last = index === messages.length - 1 && at === message.length - 1;
        stream.write(part, last ? taken : undefined);
      }
    }
    stream.uncork();
  }

  end(): void {
    this.#stream.end();
  }

  cancel(): void {
    this.#stream.close(constants.NGHTTP2_CANCEL);
    this.#stream.resume();
  }

  pause(): void {
    this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  #answered(fields: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    const status = fields[':status'] ?? 0;
    const type = fields['content-type'] ?? '';
    if (status !== 200 || !type.startsWith('application/grpc')) {
      this.#foreign = { status, text: '' };
    }
    // An answer of trailers only has them here.
    this.#readStatus(fields);
  }

  #readStatus(fields: IncomingHttpHeaders): void {
    const code = grpcCodeIn(fields['grpc-status']);
    if (code !== undefined) {
      this.#status = { code, text: grpcMessageIn(fields['grpc-message']) };
    }
  }

  #read(chunk: Buffer): void {
    if (this.#foreign !== undefined) {
      this.#foreign.text += chunk.toString('latin1', 0, maxForeignBytes - this.#foreign.text.length);
      return;
    }
    try {
      if (this.#fault === undefined) {
        this.#reader.push(chunk);
      }
    } catch (error) {
      // Neither can what comes behind it be read.
      this.#fault = error instanceof TunnelError ? error : broken(error);
      this.#end();
      this.cancel();
    }
  }

  /** The server has ended its side, and with it the call; so nothing of ours is wanted any more. */
  #finished(): void {
    if (this.#stream.writableLength > 0) {
      this.#stream.close(constants.NGHTTP2_NO_ERROR);
    } else {
      this.#stream.end();
    }
  }

  #end(): void {
    if (this.#ended) {
      return;
    }
    this.#ended = true;
    this.#handler.onEnd(this.#ending());
  }

  #ending(): StreamEnding {
    const fault = this.#fault;
    if (fault !== undefined) {
      return { code: grpcCodes.internal, text: fault.message, refused: false, fault };
    }
    if (this.#status !== undefined) {
      return { ...this.#status, refused: false };
    }
    if (this.#foreign !== undefined) {
      const { status, text } = this.#foreign;
      return {
        code: grpcCodeOfHttp(status),
        text: wordsOf(`it answered as something else does, HTTP ${status} ${text}`),
        refused: false,
      };
    }
    const lost = this.#sessionLost();
    const reset = this.#stream.rstCode ?? constants.NGHTTP2_NO_ERROR;
    if (reset === constants.NGHTTP2_REFUSED_STREAM) {
      return { code: grpcCodes.unavailable, text: 'it refused the stream', refused: true, cause: lost };
    }
    if (lost !== undefined) {
      return { code: grpcCodes.unavailable, text: lost.message, refused: false, cause: lost };
    }
    const cause = this.#cause;
    return reset === constants.NGHTTP2_NO_ERROR
      ? { code: grpcCodes.internal, text: 'the stream ended without a status', refused: false, cause }
      : { code: grpcCodeOfReset(reset), text: `it reset the stream (${reset})`, refused: false, cause };
  }
}

function broken(cause: unknown): TunnelError {
  return new TunnelError('ERR_RH_TUNNEL_PROTOCOL', 'a packet of the proxy-server could not be handled', {
    cause,
  });
}
