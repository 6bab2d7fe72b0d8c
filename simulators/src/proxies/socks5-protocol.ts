/** SOCKS5, as a proxy reads it (RFC 1928, RFC 1929). */

import { isSame, type Conversation, type ProxyProtocol, type ProxyUser } from './proxy-protocol.ts';

const methods = { none: 0, password: 2, refused: 255 } as const;

export const socks5Protocol: ProxyProtocol = {
  yes: Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
  unreachable: 5,

  no(code) {
    return Buffer.from([5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
  },

  async ask(conversation, expected) {
    const [, count = 0] = await conversation.exactly(2);
    const offered = await conversation.exactly(count);
    const method = expected === undefined ? methods.none : methods.password;
    const nobody = { target: { host: '', port: 0 }, user: undefined, served: false };
    if (!offered.includes(method)) {
      await conversation.say(Buffer.from([5, methods.refused]));
      return nobody;
    }
    await conversation.say(Buffer.from([5, method]));
    const user = method === methods.password ? await readUser(conversation) : undefined;
    if (method === methods.password) {
      const served = isSame(user, expected);
      await conversation.say(Buffer.from([1, served ? 0 : 1]));
      if (!served) return { ...nobody, user };
    }
    return { target: await readTarget(conversation), user, served: true };
  },
};

async function readUser(conversation: Conversation): Promise<ProxyUser> {
  const [, length = 0] = await conversation.exactly(2);
  const username = (await conversation.exactly(length)).toString();
  const [secretLength = 0] = await conversation.exactly(1);
  return { username, password: (await conversation.exactly(secretLength)).toString() };
}

async function readTarget(conversation: Conversation) {
  const [, , , type = 0] = await conversation.exactly(4);
  const host = await readHost(conversation, type);
  return { host, port: (await conversation.exactly(2)).readUInt16BE() };
}

async function readHost(conversation: Conversation, type: number): Promise<string> {
  switch (type) {
    case 1:
      return (await conversation.exactly(4)).join('.');
    case 4:
      return ((await conversation.exactly(16)).toString('hex').match(/.{4}/g) ?? []).join(':');
    default: {
      const [length = 0] = await conversation.exactly(1);
      return (await conversation.exactly(length)).toString();
    }
  }
}
