/** Sessions that go on while others break: what they send comes back, all of it and in order. */

import assert from 'node:assert/strict';
import type { AnySession, FrontClients } from './fronts.ts';

const everyMs = 50;

export class SteadySessions {
  readonly #sessions: readonly AnySession[];
  readonly #sent: string[];
  readonly #timer: NodeJS.Timeout;

  private constructor(sessions: readonly AnySession[]) {
    this.#sessions = sessions;
    this.#sent = sessions.map(() => '');
    let round = 0;
    this.#timer = setInterval(() => {
      round += 1;
      this.#sessions.forEach((session, index) => {
        const piece = `${index}:${round};`.padEnd(256, '.');
        session.write(piece);
        this.#sent[index] += piece;
      });
    }, everyMs);
  }

  /** @param path of a cluster that sends back what comes */
  static async open(clients: FrontClients, path: string, count = 20): Promise<SteadySessions> {
    const sessions = await Promise.all(Array.from({ length: count }, () => clients.open({ path })));
    await Promise.all(sessions.map((session) => session.answered()));
    return new SteadySessions(sessions);
  }

  /** Everything that was sent has come back, and each session ends in good order. */
  async finish(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(
      this.#sessions.map(async (session, index) => {
        const sent = this.#sent[index] ?? '';
        await session.until(() => session.body.length >= sent.length);
        assert.equal(session.body, sent, 'a session that nobody touched lost something');
        session.end();
        await session.gone();
        assert.equal(session.ended, true);
        assert.equal(session.error, undefined);
      }),
    );
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
