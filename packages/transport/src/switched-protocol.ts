/**
 * Whether a 101 answers what was asked. A server that says it speaks something else now, or to somebody else, is not one to
 * connect a caller to: whatever the caller sends next would be read as what it is not.
 */

import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { UpgradeOptions } from './upgrade.ts';

/** What is wrong with it; undefined when nothing is. */
export function faultOfSwitch(
  { protocol, headers: asked }: Pick<UpgradeOptions, 'protocol' | 'headers'>,
  answered: IncomingHttpHeaders,
): string | undefined {
  if (answered.upgrade?.toLowerCase() !== protocol.toLowerCase()) {
    return 'it says that it switched to another protocol';
  }
  return protocol.toLowerCase() === 'websocket' ? faultOfWebSocket(asked, answered) : undefined;
}

/** What RFC 6455 tells clients to check (section 4.1). */
function faultOfWebSocket(asked: readonly string[], answered: IncomingHttpHeaders): string | undefined {
  const [key] = valuesOf(asked, 'sec-websocket-key');
  if (key === undefined || answered['sec-websocket-accept'] !== acceptValueOf(key)) {
    return 'its Sec-WebSocket-Accept does not belong to the key that was sent';
  }
  const chosen = answered['sec-websocket-protocol'];
  if (chosen !== undefined && !itemsOf(asked, 'sec-websocket-protocol').includes(chosen)) {
    return 'it chose a subprotocol that was not offered';
  }
  const offered = itemsOf(asked, 'sec-websocket-extensions').map(nameOf);
  const extensions = answered['sec-websocket-extensions'];
  const foreign = (extensions ?? '')
    .split(',')
    .map(nameOf)
    .find((name) => name !== '' && !offered.includes(name));
  return foreign === undefined ? undefined : 'it uses an extension that was not offered';
}

/** RFC 6455, section 4.2.2: for this key a server that understood the question gives this answer. */
function acceptValueOf(key: string): string {
  return createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
}

function valuesOf(fields: readonly string[], name: string): string[] {
  return fields.filter((_value, index) => index % 2 === 1 && fields[index - 1]?.toLowerCase() === name);
}

function itemsOf(fields: readonly string[], name: string): string[] {
  return valuesOf(fields, name).flatMap((value) => value.split(',').map((item) => item.trim()));
}

/** Without its parameters. */
function nameOf(extension: string): string {
  return (extension.split(';', 1)[0] ?? '').trim().toLowerCase();
}
