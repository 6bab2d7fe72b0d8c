// Requests as kubectl makes them: to a context of the kubeconfig that the demo writes, as its user, over TLS that is verified.

import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';

interface Kubeconfig {
  readonly clusters: readonly Named<'cluster', { server: string; 'certificate-authority-data': string }>[];
  readonly users: readonly Named<'user', { token: string }>[];
  readonly contexts: readonly Named<'context', { cluster: string; user: string; namespace?: string }>[];
}

type Named<Field extends string, Value> = { readonly name: string } & Readonly<Record<Field, Value>>;

export async function readKubeconfig(folder: string): Promise<Kubeconfig> {
  return JSON.parse(await readFile(join(folder, 'kubeconfig'), 'utf8')) as Kubeconfig;
}

export interface Target {
  readonly url: URL;
  readonly ca: Buffer;
  /** Undefined for nobody. */
  readonly authorization: string | undefined;
}

/** @param user instead of the context's own; '' is nobody */
export async function readTarget(folder: string, contextName: string, user?: string): Promise<Target> {
  const { clusters, users, contexts } = await readKubeconfig(folder);
  const context = find(contexts, contextName).context;
  const { server, 'certificate-authority-data': authority } = find(clusters, context.cluster).cluster;
  return {
    url: new URL(server),
    ca: Buffer.from(authority, 'base64'),
    authorization: user === '' ? undefined : `Bearer ${find(users, user ?? context.user).user.token}`,
  };
}

/** @param user as for `readTarget` */
export async function openGet(
  folder: string,
  contextName: string,
  path: string,
  user?: string,
): Promise<IncomingMessage> {
  const { url, ca, authorization } = await readTarget(folder, contextName, user);
  const headers = authorization === undefined ? {} : { authorization };
  const [response] = (await once(get(`${url.href}${path}`, { agent: false, ca, headers }), 'response')) as [
    IncomingMessage,
  ];
  return response;
}

/** A list, or a Status. */
export async function getJson(...request: Parameters<typeof openGet>): Promise<{
  readonly status: number | undefined;
  readonly body: { items?: { metadata: { name: string }; status?: { phase?: string } }[]; message?: string };
}> {
  const response = await openGet(...request);
  return {
    status: response.statusCode,
    body: (await json(response)) as Awaited<ReturnType<typeof getJson>>['body'],
  };
}

function find<Entry extends { readonly name: string }>(entries: readonly Entry[], name: string): Entry {
  const found = entries.find((entry) => entry.name === name);
  if (found === undefined) throw new Error(`there is no ${name} in the kubeconfig`);
  return found;
}
