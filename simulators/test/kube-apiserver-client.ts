/** A plain client of the simulator for its tests: one server with one known user, and requests without any library's opinion. */
import { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import type { KubeApiserverOptions } from '../src/kube-apiserver/kube-apiserver.ts';

export const token = 'test-token';

/** Plain HTTP, no controllers unless asked for: nothing happens that the test does not do. */
export async function startServer(options: Partial<KubeApiserverOptions> = {}): Promise<KubeApiserver> {
  return KubeApiserver.listen({
    name: 'test',
    controllers: false,
    authentication: { tokens: { [token]: { username: 'tester', groups: ['testers'] } } },
    ...options,
  });
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests take answers apart that they assert on
  readonly body: any;
}

export interface RequestParts {
  readonly body?: unknown;
  /** Default: application/json. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export async function call(
  server: KubeApiserver,
  method: string,
  path: string,
  parts: RequestParts = {},
): Promise<Answer> {
  const response = await open(server, method, path, parts);
  const text = await response.text();
  const json = response.headers.get('content-type')?.startsWith('application/json') === true;
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
}

export async function open(
  server: KubeApiserver,
  method: string,
  path: string,
  parts: RequestParts = {},
): Promise<Response> {
  const { body, type = 'application/json', headers, signal } = parts;
  return fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': type }),
      ...headers,
    },
    ...(body === undefined
      ? {}
      : { body: body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

/** The lines of a stream as they come. Disposing of it ends the request. */
export class LineStream implements AsyncDisposable {
  readonly #abort = new AbortController();
  readonly #lines: AsyncGenerator<string, void>;

  private constructor(response: Response, abort: AbortController) {
    this.#abort = abort;
    this.#lines = linesOf(response);
  }

  static async open(
    server: KubeApiserver,
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<LineStream> {
    const abort = new AbortController();
    return new LineStream(await open(server, 'GET', path, { headers, signal: abort.signal }), abort);
  }

  /** Undefined at the end of the stream. */
  async next(): Promise<string | undefined> {
    const { value, done } = await this.#lines.next();
    return done === true ? undefined : value;
  }

  // oxlint-disable-next-line typescript/no-explicit-any -- tests take events apart that they assert on
  async nextJson(): Promise<any> {
    const line = await this.next();
    return line === undefined ? undefined : JSON.parse(line);
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
    rest += decoder.decode(chunk as Uint8Array, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

export const configMaps = '/api/v1/namespaces/default/configmaps';

export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = {},
  labels?: Readonly<Record<string, string>>,
) {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', ...(labels === undefined ? {} : { labels }) },
    data,
  };
}

export function pod(name: string, labels: Readonly<Record<string, string>> = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels },
    spec: { containers: [{ name: 'main', image: 'image:1' }] },
  };
}
