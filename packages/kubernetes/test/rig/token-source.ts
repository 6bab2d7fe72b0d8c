/** A credential that a test changes: a token, and the one that is there when it is obtained anew. */

import type { ApiCredential, ShownCredential } from '../../src/index.ts';

class Token implements ShownCredential {
  readonly authorization: string;

  constructor(token: string) {
    this.authorization = `Bearer ${token}`;
  }

  equals(other: ShownCredential): boolean {
    return this.authorization === other.authorization;
  }
}

export class TokenSource implements ApiCredential {
  /** What the next renewal brings. */
  next: string;
  /** How often it was obtained anew. */
  renewals = 0;
  #present: Token;

  constructor(token: string) {
    this.next = token;
    this.#present = new Token(token);
  }

  present(): Token {
    return this.#present;
  }

  async get(): Promise<Token> {
    return this.#present;
  }

  async renew(refused: ShownCredential): Promise<void> {
    if (this.#present.equals(refused)) {
      this.renewals += 1;
      this.#present = new Token(this.next);
    }
  }
}
