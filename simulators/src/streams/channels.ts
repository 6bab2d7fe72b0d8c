/**
 * The channels of remote commands over WebSocket: each message begins with the number of the channel that it belongs to. The names and
 * numbers are Kubernetes's (k8s.io/apimachinery/pkg/util/remotecommand, k8s.io/streaming/pkg/httpstream/wsstream).
 */

export const channel = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4 } as const;

/** From v5 on: the channel that is named by the second byte has no more to come. */
export const closeSignal = 255;

export interface ChannelProtocol {
  readonly name: string;
  /** Messages of text, with a digit for the channel and the rest in base64. */
  readonly base64: boolean;
  /** The error channel carries a Status, of a success too; else it carries the words of a failure. */
  readonly status: boolean;
  /** There is a close signal. */
  readonly closes: boolean;
}

export const channelProtocols: readonly ChannelProtocol[] = [
  { name: 'v5.channel.k8s.io', base64: false, status: true, closes: true },
  { name: 'v4.channel.k8s.io', base64: false, status: true, closes: false },
  { name: 'v4.base64.channel.k8s.io', base64: true, status: true, closes: false },
  { name: 'channel.k8s.io', base64: false, status: false, closes: false },
  { name: 'base64.channel.k8s.io', base64: true, status: false, closes: false },
];

/** For a client that names none. */
export const unnamedProtocol: ChannelProtocol = { name: '', base64: false, status: false, closes: false };

export interface ChannelMessage {
  readonly channel: number;
  readonly data: Buffer;
}

/** Undefined when the message has no channel. */
export function decodeChannelMessage(
  message: Buffer,
  { base64 }: ChannelProtocol,
): ChannelMessage | undefined {
  const [first] = message;
  if (first === undefined) return undefined;
  const rest = message.subarray(1);
  if (!base64) return { channel: first, data: rest };
  return { channel: first - 0x30, data: Buffer.from(rest.toString('latin1'), 'base64') };
}

export function encodeChannelMessage(
  { channel: number, data }: ChannelMessage,
  { base64 }: ChannelProtocol,
): Buffer {
  if (base64) return Buffer.from(`${number}${data.toString('base64')}`, 'latin1');
  const message = Buffer.allocUnsafe(1 + data.length);
  message[0] = number;
  data.copy(message, 1);
  return message;
}
