/**
 * Answers leave together at the end of a turn of the event loop. Most are complete by then, and one write has head, body and end;
 * and whoever takes them is woken for all of them and not for each, which is a good part of what a short answer costs.
 */

interface Leaving {
  /** Sends what there is by now. */
  leave(): void;
}

export class TurnEnd {
  /** Empty after each turn. */
  #leaving: Leaving[] = [];

  add(leaving: Leaving): void {
    this.#leaving.push(leaving);
    if (this.#leaving.length === 1) {
      setImmediate(() => this.#leave());
    }
  }

  #leave(): void {
    const leaving = this.#leaving;
    this.#leaving = [];
    for (const answer of leaving) {
      answer.leave();
    }
  }
}
