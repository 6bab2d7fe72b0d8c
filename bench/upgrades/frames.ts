/**
 * What goes over an upgraded connection here: frames of the protocol that was agreed to, since a proxy may look at them, with nothing
 * in them. Nobody here reads them as frames; their bytes are counted.
 */

export type SessionProtocol = 'SPDY/3.1' | 'websocket';

/** Of a frame of output, its head included: what a runtime writes at once. */
export const outputFrameBytes = 32_768;

/** From a server, of exactly that length. */
export function outputFrame(protocol: SessionProtocol): Buffer {
  return protocol === 'SPDY/3.1' ? spdyData(outputFrameBytes - 8) : webSocketData(outputFrameBytes - 10);
}

/** From a client; short, as a keystroke is. */
export function inputFrame(protocol: SessionProtocol): Buffer {
  if (protocol === 'SPDY/3.1') return spdyData(8);
  // Masked with zeros (RFC 6455, section 5.3), which is as good as any mask here.
  return Buffer.from([0x82, 0x80 | 9, 0, 0, 0, 0, 0, ...Buffer.from('keys\r\n\r\n')]);
}

/** A data frame of SPDY/3.1 on stream 1 (section 2.2.2). */
function spdyData(payloadBytes: number): Buffer {
  const frame = Buffer.alloc(8 + payloadBytes, 'x');
  frame.writeUInt32BE(1, 0);
  frame.writeUInt32BE(payloadBytes, 4);
  return frame;
}

/** A binary message of channel 1 with a length of 64 bits (RFC 6455, section 5.2). */
function webSocketData(payloadBytes: number): Buffer {
  const frame = Buffer.alloc(10 + payloadBytes, 'x');
  frame.writeUInt16BE(0x827f, 0);
  frame.writeBigUInt64BE(BigInt(payloadBytes), 2);
  frame.writeUInt8(1, 10);
  return frame;
}
