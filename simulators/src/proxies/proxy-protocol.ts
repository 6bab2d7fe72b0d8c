/** What the two protocols have in common: a user perhaps, a target, and a yes or no. */

import type { ProxyTarget } from './proxied-connection.ts';

export interface ProxyUser {
  readonly username: string;
  readonly password: string;
}

/** The client's side of the conversation, as a protocol reads it. */
export interface Conversation {
  /** Rejects when the client goes before. */
  exactly(length: number): Promise<Buffer>;
  /** Up to and with an empty line. */
  head(): Promise<string>;
  say(bytes: string | Buffer): Promise<void>;
}

export interface Asked {
  readonly target: ProxyTarget;
  /** As the client showed itself. */
  readonly user: ProxyUser | undefined;
  /** False when it was turned away already, or is to be for its user. */
  readonly served: boolean;
}

export interface ProxyProtocol {
  /** @param expected whom it serves; undefined: everybody */
  ask(conversation: Conversation, expected: ProxyUser | undefined): Promise<Asked>;
  /** The bytes of a yes. */
  readonly yes: Buffer;
  /** @param code a status of HTTP, a reply of SOCKS5 */
  no(code: number): Buffer;
  /** When a target cannot be reached. */
  readonly unreachable: number;
}

export function isSame(user: ProxyUser | undefined, expected: ProxyUser | undefined): boolean {
  return (
    expected === undefined || (user?.username === expected.username && user.password === expected.password)
  );
}
