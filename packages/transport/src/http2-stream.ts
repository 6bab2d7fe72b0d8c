/** What `node:http2` leaves open about one stream: whether its body failed or itself, how it ended, what its raw fields say. */

import { Readable, pipeline } from 'node:stream';
import type { ClientHttp2Stream } from 'node:http2';
import { LentBody } from './lent-body.ts';
import type { RequestBody } from './request.ts';

/** Returns what will tell whether the body was the one that failed, and not the stream under it. */
export function sendBody(
  stream: ClientHttp2Stream,
  body: RequestBody,
): { readonly failure: Error | undefined } | undefined {
  if (!(body instanceof Readable)) {
    stream.end(body);
    return undefined;
  }
  const lent = new LentBody(body);
  const upload: { failure: Error | undefined } = { failure: undefined };
  const broken = (cause: Error): void => {
    if (!stream.destroyed && !stream.closed && !lent.readableEnded) {
      upload.failure ??= cause;
    }
  };
  // Before the pipeline hears of it and ends the other side, too.
  lent.once('error', broken);
  lent.once('close', () => broken(new Error('it was closed before its end')));
  // The stream's own 'close' reports the outcome; the pipeline only makes sure that each side ends the other.
  pipeline(lent, stream, () => undefined);
  return upload;
}

/**
 * Whether the peer has ended its side in good order (END_STREAM). Node.js pushes the end of the data for a reset, too,
 * also for one without an error code, but only after it has marked the stream as closed.
 */
export function watchEnd(stream: ClientHttp2Stream): () => boolean {
  let ended = false;
  const push = stream.push.bind(stream);
  stream.push = (chunk: unknown, encoding?: BufferEncoding): boolean => {
    ended ||= chunk === null && !stream.closed;
    return push(chunk, encoding);
  };
  return () => ended;
}

export function statusOf(rawHeaders: readonly string[]): number {
  return Number(rawHeaders[rawHeaders.indexOf(':status') + 1]);
}

export function withoutPseudoFields(rawHeaders: readonly string[]): string[] {
  const fields: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    const value = rawHeaders[index + 1];
    if (name !== undefined && value !== undefined && !name.startsWith(':')) {
      fields.push(name, value);
    }
  }
  return fields;
}
