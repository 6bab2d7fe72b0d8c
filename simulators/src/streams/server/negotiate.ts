/** What a request to switch protocols asks for, and what a kubelet or an apiserver would agree to. */

import { acceptValueOf } from '../websocket/handshake.ts';

/** Looks up the values of a field, in order, whatever the case of its name. */
export type FieldValues = (name: string) => readonly string[];

export type Agreement =
  | {
      readonly kind: 'switch';
      readonly via: 'spdy' | 'websocket';
      /** Empty: none was named. */
      readonly protocol: string;
      /** Of the 101. */
      readonly fields: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: 'refuse';
      readonly status: number;
      readonly message: string;
      readonly fields: Readonly<Record<string, string>>;
    };

export interface Offer {
  readonly spdy: readonly string[];
  readonly webSocket: readonly string[];
  /** Whether a WebSocket without any protocol is taken. */
  readonly unnamed: boolean;
}

/** Undefined when nothing that is known here is asked for. */
export function negotiate(values: FieldValues, offer: Offer): Agreement | undefined {
  const upgrades = listed(values('upgrade')).map((protocol) => protocol.toLowerCase());
  if (upgrades.includes('websocket')) return negotiateWebSocket(values, offer);
  return upgrades.includes('spdy/3.1') ? negotiateSpdy(values, offer) : undefined;
}

/** The client's first that is known (k8s.io/apimachinery/pkg/util/httpstream). */
function negotiateSpdy(values: FieldValues, { spdy }: Offer): Agreement {
  const field = 'X-Stream-Protocol-Version';
  const asked = listed(values(field));
  if (asked.length === 0) return refuse(400, `unable to upgrade: ${field} is required\n`);
  const protocol = asked.find((each) => spdy.includes(each));
  if (protocol === undefined) {
    const message = `unable to upgrade: unable to negotiate protocol: client supports [${asked.join(' ')}], server accepts [${spdy.join(' ')}]\n`;
    return refuse(403, message, { 'X-Accepted-Stream-Protocol-Versions': spdy.join(', ') });
  }
  return {
    kind: 'switch',
    via: 'spdy',
    protocol,
    fields: { Connection: 'Upgrade', Upgrade: 'SPDY/3.1', [field]: protocol },
  };
}

function negotiateWebSocket(values: FieldValues, { webSocket, unnamed }: Offer): Agreement {
  if (values('sec-websocket-version')[0] !== '13') return refuse(400, '', { 'Sec-WebSocket-Version': '13' });
  const [key = ''] = values('sec-websocket-key');
  if (!/^[A-Za-z0-9+/]{22}==$/.test(key)) return refuse(400, '');
  const asked = listed(values('sec-websocket-protocol'));
  const protocol = asked.find((each) => webSocket.includes(each));
  if (protocol === undefined && (asked.length > 0 || !unnamed)) return refuse(403, '');
  return {
    kind: 'switch',
    via: 'websocket',
    protocol: protocol ?? '',
    fields: {
      Upgrade: 'websocket',
      Connection: 'Upgrade',
      'Sec-WebSocket-Accept': acceptValueOf(key),
      ...(protocol === undefined ? {} : { 'Sec-WebSocket-Protocol': protocol }),
    },
  };
}

function refuse(status: number, message: string, fields: Readonly<Record<string, string>> = {}): Agreement {
  return { kind: 'refuse', status, message, fields };
}

function listed(values: readonly string[]): readonly string[] {
  return values
    .flatMap((value) => value.split(','))
    .map((value) => value.trim())
    .filter((value) => value !== '');
}
