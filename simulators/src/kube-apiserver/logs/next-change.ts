import type { LogBook } from './log-book.ts';

/** Resolves when the book has changed, or the signal is aborted. */
export async function nextChange(book: LogBook, closed: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  using _subscription = book.onChange(resolve);
  const settled = new AbortController();
  closed.addEventListener('abort', () => resolve(), { once: true, signal: settled.signal });
  if (closed.aborted) return;
  await promise;
  settled.abort();
}
