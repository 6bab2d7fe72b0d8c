/** The frames of SPDY/3.1 (section 2.2 and 2.6), and how they are written. Header blocks stay compressed here. */

export type SpdyFrame =
  | { readonly type: 'data'; readonly streamId: number; readonly fin: boolean; readonly data: Buffer }
  | {
      readonly type: 'syn-stream';
      readonly streamId: number;
      readonly associatedTo: number;
      /** 0 is the highest, 7 the lowest. */
      readonly priority: number;
      readonly fin: boolean;
      readonly unidirectional: boolean;
      readonly block: Buffer;
    }
  | { readonly type: 'syn-reply'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'headers'; readonly streamId: number; readonly fin: boolean; readonly block: Buffer }
  | { readonly type: 'rst-stream'; readonly streamId: number; readonly status: number }
  | { readonly type: 'settings'; readonly entries: readonly SpdySetting[] }
  | { readonly type: 'ping'; readonly id: number }
  | { readonly type: 'goaway'; readonly lastStreamId: number; readonly status: number }
  | { readonly type: 'window-update'; readonly streamId: number; readonly delta: number }
  /** One that this version of the protocol does not have, to be passed over. */
  | { readonly type: 'unknown'; readonly code: number };

export interface SpdySetting {
  readonly id: number;
  readonly flags: number;
  readonly value: number;
}

export const controlType = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

/** Status codes of RST_STREAM. */
export const resetStatus = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  internalError: 6,
} as const;

export const flagFin = 0x01;
export const flagUnidirectional = 0x02;

export function encodeFrame(frame: SpdyFrame): Buffer {
  switch (frame.type) {
    case 'data': {
      const head = Buffer.alloc(8);
      head.writeUInt32BE(frame.streamId);
      head.writeUInt32BE(frame.data.length, 4);
      if (frame.fin) head[4] = flagFin;
      return Buffer.concat([head, frame.data]);
    }
    case 'syn-stream': {
      const flags = (frame.fin ? flagFin : 0) | (frame.unidirectional ? flagUnidirectional : 0);
      const slots = Buffer.from([frame.priority << 5, 0]);
      return control(controlType.synStream, flags, [
        numbers(frame.streamId, frame.associatedTo),
        slots,
        frame.block,
      ]);
    }
    case 'syn-reply':
      return control(controlType.synReply, frame.fin ? flagFin : 0, [numbers(frame.streamId), frame.block]);
    case 'headers':
      return control(controlType.headers, frame.fin ? flagFin : 0, [numbers(frame.streamId), frame.block]);
    case 'rst-stream':
      return control(controlType.rstStream, 0, [numbers(frame.streamId, frame.status)]);
    case 'settings': {
      const entries = frame.entries.map(({ id, flags, value }) => numbers(((flags << 24) | id) >>> 0, value));
      return control(controlType.settings, 0, [numbers(entries.length), ...entries]);
    }
    case 'ping':
      return control(controlType.ping, 0, [numbers(frame.id)]);
    case 'goaway':
      return control(controlType.goaway, 0, [numbers(frame.lastStreamId, frame.status)]);
    case 'window-update':
      return control(controlType.windowUpdate, 0, [numbers(frame.streamId, frame.delta)]);
    case 'unknown':
      return control(frame.code, 0, []);
  }
}

function control(type: number, flags: number, parts: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt16BE(0x8003);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(
    parts.reduce((sum, part) => sum + part.length, 0),
    4,
  );
  head[4] = flags;
  return Buffer.concat([head, ...parts]);
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}
