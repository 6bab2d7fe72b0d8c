/** The packets of the protocol (see spec.md), as they are when they are read. */

/** A 64-bit integer: a number where that is exact, else a bigint; so two are the same exactly when they are `===`. */
export type Int64 = number | bigint;

/** The numbers of the enum `PacketType`, which are not those of the fields that go with them. */
export const packetTypes = {
  DIAL_REQ: 0,
  DIAL_RSP: 1,
  CLOSE_REQ: 2,
  CLOSE_RSP: 3,
  DATA: 4,
  DIAL_CLS: 5,
  DRAIN: 6,
} as const;

export type PacketName = keyof typeof packetTypes;

export type Packet =
  | {
      readonly type: 'DIAL_REQ';
      readonly protocol: string;
      readonly address: string;
      readonly random: Int64;
    }
  | {
      readonly type: 'DIAL_RSP';
      /** Empty when the agent has connected. */
      readonly error: string;
      readonly connectId: Int64;
      readonly random: Int64;
    }
  | { readonly type: 'CLOSE_REQ'; readonly connectId: Int64 }
  | { readonly type: 'CLOSE_RSP'; readonly error: string; readonly connectId: Int64 }
  | { readonly type: 'DATA'; readonly connectId: Int64; readonly error: string; readonly data: Buffer }
  | { readonly type: 'DIAL_CLS'; readonly random: Int64 }
  | { readonly type: 'DRAIN' }
  /** Of a type that is newer than this client. */
  | { readonly type: 'Unknown'; readonly number: Int64 };
