/** What an informer tells its subscribers, in short and in order: `added one`. */

import { until } from '@roundhouse/simulators';
import type { Informer, InformerHandlers, KubeObject } from '../../src/index.ts';

export class Told implements Required<InformerHandlers>, Disposable {
  readonly all: string[] = [];
  readonly #subscription: Disposable;

  constructor(informer: Informer) {
    this.#subscription = informer.subscribe(this);
  }

  readonly added = (object: KubeObject): void => void this.all.push(`added ${object.metadata.name}`);
  readonly updated = (object: KubeObject): void => void this.all.push(`updated ${object.metadata.name}`);
  readonly deleted = (object: KubeObject): void => void this.all.push(`deleted ${object.metadata.name}`);

  /** Takes out what was told so far. */
  take(): readonly string[] {
    return this.all.splice(0);
  }

  async reach(count: number): Promise<void> {
    await until(() => this.all.length >= count, `${count} words`);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
  }
}
