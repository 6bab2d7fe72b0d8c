/** HTTP CONNECT, as a proxy reads it (RFC 9110, section 9.3.6). */

import { isSame, type ProxyProtocol, type ProxyUser } from './proxy-protocol.ts';

export const connectProtocol: ProxyProtocol = {
  yes: Buffer.from('HTTP/1.1 200 Connection established\r\n\r\n'),
  unreachable: 502,

  no(code) {
    const body = `the proxy says ${code}\n`;
    const challenge = code === 407 ? 'Proxy-Authenticate: Basic realm="proxy"\r\n' : '';
    return Buffer.from(
      `HTTP/1.1 ${code} No\r\n${challenge}Content-Type: text/plain\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  },

  async ask(conversation, expected) {
    const head = await conversation.head();
    const [, host, port] = /^CONNECT (\S+):(\d+) HTTP\/1\.1\r\n/.exec(head) ?? [];
    if (host === undefined || port === undefined) throw new Error(`No CONNECT: ${head}`);
    const user = userIn(head);
    const bare = host.startsWith('[') ? host.slice(1, -1) : host;
    const target = { host: bare, port: Number(port), head };
    const served = isSame(user, expected);
    if (!served) await conversation.say(this.no(407));
    return { target, user, served };
  },
};

function userIn(head: string): ProxyUser | undefined {
  const basic = /^proxy-authorization: basic (\S+)\r$/im.exec(head)?.[1];
  if (basic === undefined) return undefined;
  const text = Buffer.from(basic, 'base64').toString();
  const colon = text.indexOf(':');
  return { username: text.slice(0, colon), password: text.slice(colon + 1) };
}
