import { packetTypes } from './packet.ts';
import type { Int64, Packet } from './packet.ts';
import { ProtobufReader, wireTypes } from './protobuf-reader.ts';

/** Of the packet; the number of each oneof field, and what its fields are, is in spec.md. */
const fields = {
  type: field(1, 'varint'),
  dialRequest: field(2, 'bytes'),
  dialResponse: field(3, 'bytes'),
  data: field(4, 'bytes'),
  closeRequest: field(5, 'bytes'),
  closeResponse: field(6, 'bytes'),
  closeDial: field(7, 'bytes'),
} as const;

/** Of each payload, one field of each number; which of them is a number and which is bytes is told by its wire type. */
const first = { integer: field(1, 'varint'), bytes: field(1, 'bytes') } as const;
const second = { integer: field(2, 'varint'), bytes: field(2, 'bytes') } as const;
const third = { integer: field(3, 'varint'), bytes: field(3, 'bytes') } as const;

/** The fields of a payload by their numbers; what is not there is proto3's default. */
class Payload {
  integer1: Int64 = 0;
  integer2: Int64 = 0;
  integer3: Int64 = 0;
  text1 = '';
  text2 = '';
  bytes3: Buffer = nothing;

  /** A known field of another wire type is passed over, as other readers of protobuf do. */
  read(reader: ProtobufReader, withBytes: boolean): void {
    while (reader.more) {
      const tag = reader.tag();
      switch (tag) {
        case first.integer:
          this.integer1 = reader.varint();
          break;
        case first.bytes:
          this.text1 = reader.text();
          break;
        case second.integer:
          this.integer2 = reader.varint();
          break;
        case second.bytes:
          this.text2 = reader.text();
          break;
        case third.integer:
          this.integer3 = reader.varint();
          break;
        case third.bytes:
          if (withBytes) {
            this.bytes3 = reader.bytes();
          } else {
            reader.skip(wireTypes.bytes);
          }
          break;
        default:
          reader.skip(tag & 7);
      }
    }
  }
}

const nothing = Buffer.alloc(0);

/**
 * A packet without a type is a DIAL_REQ, whose number is 0. The data of a DATA packet is a view of `message`.
 *
 * @throws ERR_RH_TUNNEL_PROTOCOL
 */
export function decodePacket(message: Buffer): Packet {
  const reader = new ProtobufReader(message);
  let type: Int64 = 0;
  const payload = new Payload();
  let payloadField = 0;
  while (reader.more) {
    const tag = reader.tag();
    if (tag === fields.type) {
      type = reader.varint();
    } else if (tag >= fields.dialRequest && tag <= fields.closeDial && (tag & 7) === wireTypes.bytes) {
      payloadField = tag;
      payload.read(reader.message(), tag === fields.data);
    } else {
      reader.skip(tag & 7);
    }
  }
  return packetOf(type, payloadField, payload);
}

function packetOf(type: Int64, payloadField: number, payload: Payload): Packet {
  // What does not belong to the type is as good as not there.
  const own = (wanted: number): Payload => (payloadField === wanted ? payload : new Payload());
  switch (type) {
    case packetTypes.DIAL_REQ: {
      const { text1, text2, integer3 } = own(fields.dialRequest);
      return { type: 'DIAL_REQ', protocol: text1, address: text2, random: integer3 };
    }
    case packetTypes.DIAL_RSP: {
      const { text1, integer2, integer3 } = own(fields.dialResponse);
      return { type: 'DIAL_RSP', error: text1, connectId: integer2, random: integer3 };
    }
    case packetTypes.CLOSE_REQ:
      return { type: 'CLOSE_REQ', connectId: own(fields.closeRequest).integer1 };
    case packetTypes.CLOSE_RSP: {
      const { text1, integer2 } = own(fields.closeResponse);
      return { type: 'CLOSE_RSP', error: text1, connectId: integer2 };
    }
    case packetTypes.DATA: {
      const { integer1, text2, bytes3 } = own(fields.data);
      return { type: 'DATA', connectId: integer1, error: text2, data: bytes3 };
    }
    case packetTypes.DIAL_CLS:
      return { type: 'DIAL_CLS', random: own(fields.closeDial).integer1 };
    case packetTypes.DRAIN:
      return { type: 'DRAIN' };
    default:
      return { type: 'Unknown', number: type };
  }
}

function field(number: number, type: keyof typeof wireTypes): number {
  return number * 8 + wireTypes[type];
}
