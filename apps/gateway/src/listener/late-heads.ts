/**
 * Heads of answers that wait for the first piece of their body, so that both leave together. Where none comes within the turn of the
 * event loop, the head leaves alone. One look a turn for all answers: one for each of them is dear, and of most the body comes.
 */

interface Head {
  sendHead(): void;
}

export class LateHeads {
  /** Empty after each turn. */
  #heads: Head[] = [];

  add(head: Head): void {
    this.#heads.push(head);
    if (this.#heads.length === 1) {
      setImmediate(() => this.#send());
    }
  }

  #send(): void {
    const heads = this.#heads;
    this.#heads = [];
    for (const head of heads) {
      head.sendHead();
    }
  }
}
