/** The packets of konnectivity as a proxy-server reads and writes them; written apart from the client's, so that neither hides the other's mistakes. */

export interface SimPacket {
  readonly type: number;
  readonly address?: string;
  readonly error?: string;
  readonly random?: bigint;
  readonly connectId?: bigint;
  readonly data?: Buffer;
}

export const packetType = {
  dialRequest: 0,
  dialResponse: 1,
  closeRequest: 2,
  closeResponse: 3,
  data: 4,
  closeDial: 5,
  drain: 6,
} as const;

const payloadField = [2, 3, 5, 6, 4, 7, 8];

/** With gRPC's prefix. */
export function frame(packet: SimPacket): Buffer {
  const payload = payloadOf(packet);
  const field = payloadField[packet.type] ?? 15;
  const message = Buffer.concat([varint(8n), varint(BigInt(packet.type)), bytesField(field, payload)]);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

/** The packets in `bytes`, and what is left of them. */
export function unframe(bytes: Buffer): { readonly packets: readonly SimPacket[]; readonly rest: Buffer } {
  const packets: SimPacket[] = [];
  let rest = bytes;
  while (rest.length >= 5 && rest.length >= 5 + rest.readUInt32BE(1)) {
    const end = 5 + rest.readUInt32BE(1);
    packets.push(parse(rest.subarray(5, end)));
    rest = rest.subarray(end);
  }
  return { packets, rest };
}

function payloadOf({ type, error = '', random = 0n, connectId = 0n, data }: SimPacket): Buffer {
  switch (type) {
    case packetType.dialResponse:
      return Buffer.concat([textField(1, error), numberField(2, connectId), numberField(3, random)]);
    case packetType.closeResponse:
      return Buffer.concat([textField(1, error), numberField(2, connectId)]);
    case packetType.data:
      return Buffer.concat([numberField(1, connectId), ...(data === undefined ? [] : [bytesField(3, data)])]);
    case packetType.closeDial:
      return numberField(1, random);
    default:
      return Buffer.alloc(0);
  }
}

function parse(message: Buffer): SimPacket {
  const fields = fieldsOf(message);
  const type = Number(fields.find(({ field }) => field === 1)?.number ?? 0n);
  const payload = fields.find(({ field }) => field === payloadField[type])?.bytes ?? Buffer.alloc(0);
  const inner = new Map(fieldsOf(payload).map((field) => [field.field, field]));
  const number = (field: number): bigint => inner.get(field)?.number ?? 0n;
  switch (type) {
    case packetType.dialRequest:
      return { type, address: inner.get(2)?.bytes?.toString() ?? '', random: number(3) };
    case packetType.closeRequest:
      return { type, connectId: number(1) };
    case packetType.data:
      return { type, connectId: number(1), data: inner.get(3)?.bytes ?? Buffer.alloc(0) };
    case packetType.closeDial:
      return { type, random: number(1) };
    default:
      return { type };
  }
}

interface Field {
  readonly field: number;
  readonly number?: bigint;
  readonly bytes?: Buffer;
}

function fieldsOf(bytes: Buffer): readonly Field[] {
  const fields: Field[] = [];
  let at = 0;
  const next = (): bigint => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      const byte = bytes.readUInt8(at);
      at += 1;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
  };
  while (at < bytes.length) {
    const tag = Number(next());
    if ((tag & 7) === 0) {
      fields.push({ field: tag >> 3, number: next() });
    } else {
      const length = Number(next());
      fields.push({ field: tag >> 3, bytes: bytes.subarray(at, at + length) });
      at += length;
    }
  }
  return fields;
}

function varint(value: bigint): Buffer {
  const bytes: number[] = [];
  let rest = value;
  while (rest >= 0x80n) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  return Buffer.from([...bytes, Number(rest)]);
}

function numberField(field: number, value: bigint): Buffer {
  return value === 0n ? Buffer.alloc(0) : Buffer.concat([varint(BigInt(field * 8)), varint(value)]);
}

function textField(field: number, value: string): Buffer {
  return value === '' ? Buffer.alloc(0) : bytesField(field, Buffer.from(value));
}

function bytesField(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint(BigInt(field * 8 + 2)), varint(BigInt(value.length)), value]);
}
