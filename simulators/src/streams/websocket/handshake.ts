import { createHash } from 'node:crypto';

/** The value of Sec-WebSocket-Accept (RFC 6455, section 4.2.2). */
export function acceptValueOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}
