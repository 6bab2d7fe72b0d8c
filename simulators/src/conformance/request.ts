/** Requests without any library's opinion, and answers as the plain JSON that they are: what the cases and the simulator's tests speak with. */
import { parseJson } from '../kube-apiserver/json.ts';
import type { Json } from '../kube-apiserver/json.ts';

/** An apiserver, as one of its users. */
export interface Endpoint {
  /** `https://host:port`, without a path. */
  readonly url: string;
  /** Like the global one, with the certificate authority that the server needs. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly token: string;
}

export interface RequestParts {
  /** Text and bytes go as they are, anything else as JSON. */
  readonly body?: unknown;
  /** Default: application/json. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  /** The text itself where it is no JSON. */
  readonly body: Json;
}

export async function request(
  endpoint: Endpoint,
  method: string,
  path: string,
  parts: RequestParts = {},
): Promise<Answer> {
  const response = await openRequest(endpoint, method, path, parts);
  const text = await response.text();
  const json = response.headers.get('content-type')?.startsWith('application/json') === true;
  return {
    status: response.status,
    headers: response.headers,
    body: json && text !== '' ? parseJson(text) : text,
  };
}

/** With the body of the answer still to be read. */
export async function openRequest(
  endpoint: Endpoint,
  method: string,
  path: string,
  { body, type = 'application/json', headers, signal }: RequestParts = {},
): Promise<Response> {
  return endpoint.fetch(`${endpoint.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${endpoint.token}`,
      ...(body === undefined ? {} : { 'content-type': type }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: encoded(body) }),
    ...(signal === undefined ? {} : { signal }),
  });
}

function encoded(body: unknown): string | Buffer<ArrayBuffer> {
  if (typeof body === 'string') return body;
  return body instanceof Uint8Array ? Buffer.from(body) : JSON.stringify(body);
}
