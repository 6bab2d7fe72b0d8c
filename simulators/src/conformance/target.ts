/** What a conformance case may know of the apiserver that it runs against: the simulator today, a real one where there is one. */

export interface Target {
  /** `https://host:port`, without a path. */
  readonly url: string;
  /** Like the global one; the target's own knows the certificate authority. */
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly users: {
    /** In `system:masters`. */
    readonly admin: User;
    /** Authenticated, in the group `conformance`, and without any right of its own. */
    readonly guest: User;
  };
}

export interface User {
  readonly token: string;
  readonly username: string;
}

export interface ConformanceCase {
  /** A sentence: the rule. */
  readonly name: string;
  run(target: Target): Promise<void>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- cases take answers apart that they assert on
  readonly body: any;
}

export interface RequestParts {
  readonly body?: unknown;
  /** Default: application/json. */
  readonly type?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: the admin. */
  readonly as?: User;
}

export async function call(
  target: Target,
  method: string,
  path: string,
  parts: RequestParts = {},
): Promise<Answer> {
  const { body, type = 'application/json', headers, as = target.users.admin } = parts;
  const response = await target.fetch(`${target.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${as.token}`,
      ...(body === undefined ? {} : { 'content-type': type }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  const json = response.headers.get('content-type')?.startsWith('application/json') === true;
  return { status: response.status, headers: response.headers, body: json ? JSON.parse(text) : text };
}

/** Gives the case a namespace of its own, and takes it away. */
export async function inNamespace(target: Target, run: (namespace: string) => Promise<void>): Promise<void> {
  const created = await call(target, 'POST', '/api/v1/namespaces', {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: 'conformance-' } },
  });
  if (created.status !== 201)
    throw new Error(`no namespace: ${created.status} ${String(created.body?.message)}`);
  const name = String(created.body.metadata.name);
  try {
    await run(name);
  } finally {
    await call(target, 'DELETE', `/api/v1/namespaces/${name}`);
  }
}
