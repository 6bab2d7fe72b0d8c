/** WebSocket over HTTP/2 (RFC 8441), as far as tests need it. */

import { once } from 'node:events';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';

export async function openExtendedConnect(
  session: ClientHttp2Session,
  path: string,
  fields: Readonly<Record<string, string>> = {},
): Promise<{ readonly stream: ClientHttp2Stream; readonly status: number }> {
  // A client may ask for it only when it knows that the server takes it.
  if (session.remoteSettings?.enableConnectProtocol !== true) await once(session, 'remoteSettings');
  const stream = session.request(
    {
      ':method': 'CONNECT',
      ':protocol': 'websocket',
      ':path': path,
      'sec-websocket-version': '13',
      ...fields,
    },
    { endStream: false },
  );
  stream.on('error', () => undefined);
  const [answer] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }];
  return { stream, status: answer[':status'] ?? 0 };
}
