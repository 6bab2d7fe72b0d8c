/** A container's main process, as somebody sees it who attaches: what it logs from now on, and each line that is typed comes back. */
import { print, type Program } from '../../streams/processes/program.ts';
import { LineSource } from '../../streams/processes/line-source.ts';
import type { Clock } from '../clock.ts';
import type { LogBook } from '../logs/log-book.ts';
import { nextChange } from '../logs/next-change.ts';

/** Ends when the container does: with the pod's log. */
export function attachTo(book: LogBook, clock: Clock): Program {
  return async ({ stdin, stdout, signal }) => {
    let next = (book.from(0).at(-1)?.sequence ?? -1) + 1;
    const typed = readTo(new LineSource(stdin), (line) => book.append(line, clock.now()));
    // A client that goes away while it types is noticed by the signal.
    typed.catch(() => {});
    while (!signal.aborted) {
      for (const line of book.from(next)) {
        next = line.sequence + 1;
        await print(stdout, `${line.text}\n`);
      }
      if (book.from(next).length > 0) continue;
      if (book.closed) break;
      await nextChange(book, signal);
    }
    return 0;
  };
}

async function readTo(source: LineSource, use: (line: string) => void): Promise<void> {
  for (let line = await source.readLine(); line !== undefined; line = await source.readLine()) use(line);
}
