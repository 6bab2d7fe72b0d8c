/** A stream of lines as they come: a watch, or a log that is followed. Whoever opens one disposes of it, which ends the request. */
import { parseJson } from '../kube-apiserver/json.ts';
import type { Json } from '../kube-apiserver/json.ts';
import { openRequest } from './request.ts';
import type { Endpoint } from './request.ts';

export class LineStream implements AsyncDisposable {
  readonly #abort: AbortController;
  readonly #lines: AsyncGenerator<string, void>;

  private constructor(response: Response, abort: AbortController) {
    this.#abort = abort;
    this.#lines = linesOf(response);
  }

  static async open(
    endpoint: Endpoint,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<LineStream> {
    const abort = new AbortController();
    return new LineStream(await openRequest(endpoint, 'GET', path, { headers, signal: abort.signal }), abort);
  }

  /** Undefined at the end of the stream. */
  async next(): Promise<string | undefined> {
    const { value, done } = await this.#lines.next();
    return done === true ? undefined : value;
  }

  async nextJson(): Promise<Json | undefined> {
    const line = await this.next();
    return line === undefined ? undefined : parseJson(line);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abort.abort();
    // Its end by the abort is what was asked for.
    await this.#lines.return().catch(() => {});
  }
}

async function* linesOf(response: Response): AsyncGenerator<string, void> {
  if (response.body === null) return;
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of response.body) {
    rest += decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}
