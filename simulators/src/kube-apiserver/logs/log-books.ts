/** The logs of all containers. A book lives as long as its pod: it is closed and forgotten when the pod is removed. */
import { ApiError } from '../api-error.ts';
import { listAt, textAt } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { Collection } from '../store/versioned-store.ts';
import { objectKey } from '../store/object-names.ts';
import { LogBook } from './log-book.ts';

export class LogBooks implements Disposable {
  readonly #pods: Collection;
  readonly #linesKept: number;
  /** By namespace/pod, then container. */
  readonly #books = new Map<string, Map<string, LogBook>>();
  readonly #subscription: Disposable;
  #seen: number;

  /** `linesKept`: per container. */
  constructor(pods: Collection, linesKept: number) {
    this.#pods = pods;
    this.#linesKept = linesKept;
    this.#seen = pods.revision;
    this.#subscription = pods.onChange(() => this.#forgetRemoved());
  }

  of(namespace: string, pod: string, container: string): LogBook {
    const key = objectKey(namespace, pod);
    const books = this.#books.get(key) ?? new Map<string, LogBook>();
    this.#books.set(key, books);
    const book = books.get(container) ?? new LogBook(this.#linesKept);
    books.set(container, book);
    return book;
  }

  /** To the pod's first container unless one is named. Throws NotFound when there is no such pod. */
  append(
    pod: { readonly namespace: string; readonly name: string; readonly container?: string },
    line: string,
    now: number,
  ): void {
    const found = this.#pods.get(objectKey(pod.namespace, pod.name));
    if (found === undefined) throw ApiError.notFound({ group: '', resource: 'pods' }, pod.name);
    const container = pod.container ?? textAt(listAt(found, 'spec', 'containers')[0], 'name');
    this.of(pod.namespace, pod.name, container).append(line, now);
  }

  [Symbol.dispose](): void {
    this.#subscription[Symbol.dispose]();
    for (const books of this.#books.values()) for (const book of books.values()) book.close();
    this.#books.clear();
  }

  #forgetRemoved(): void {
    for (const change of this.#pods.history.after(this.#seen) ?? []) {
      this.#seen = change.revision;
      if (!change.deleted) continue;
      const key = objectKey(namespaceOf(change.object), nameOf(change.object));
      for (const book of this.#books.get(key)?.values() ?? []) book.close();
      this.#books.delete(key);
    }
  }
}
