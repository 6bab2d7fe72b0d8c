/** What a conformance case may know of the apiserver that it runs against: the simulator today, a real one where there is one. */
import { textAt } from '../kube-apiserver/json.ts';
import { LineStream } from './line-stream.ts';
import { request } from './request.ts';
import type { Answer, Endpoint, RequestParts } from './request.ts';

export type { Answer } from './request.ts';

export interface Target extends Pick<Endpoint, 'url' | 'fetch'> {
  readonly users: {
    /** In `system:masters`. */
    readonly admin: User;
    /** Authenticated, in the group `conformance`, and without any right of its own. */
    readonly guest: User;
  };
  /** Whether a controller manager runs beside it, which collects garbage. */
  readonly controllers: boolean;
  /** Whether `Impersonate-*` fields reach the apiserver; something in front of it may keep them to itself. Default true. */
  readonly impersonation?: boolean;
  /** Makes every resourceVersion up to now expired; undefined where that takes minutes. */
  readonly compact: (() => Promise<void>) | undefined;
}

export interface User {
  readonly token: string;
  readonly username: string;
}

export interface ConformanceCase {
  /** A sentence: the rule. */
  readonly name: string;
  /** What the case is in vain without. Default: an apiserver is enough. */
  readonly needs?: 'controllers' | 'compaction' | 'impersonation';
  run(target: Target): Promise<void>;
}

/** Whether the target has what the case needs. */
export function canRun({ needs }: ConformanceCase, target: Target): boolean {
  if (needs === 'controllers') return target.controllers;
  if (needs === 'impersonation') return target.impersonation !== false;
  return needs !== 'compaction' || target.compact !== undefined;
}

/** As the admin, unless told otherwise. */
export async function call(
  target: Target,
  method: string,
  path: string,
  { as = target.users.admin, ...parts }: RequestParts & { readonly as?: User } = {},
): Promise<Answer> {
  return request({ ...target, token: as.token }, method, path, parts);
}

/** A watch, as the admin. */
export async function openWatch(target: Target, path: string): Promise<LineStream> {
  return LineStream.open({ ...target, token: target.users.admin.token }, path);
}

/** Gives the case a namespace of its own, and takes it away. */
export async function inNamespace(target: Target, run: (namespace: string) => Promise<void>): Promise<void> {
  const created = await call(target, 'POST', '/api/v1/namespaces', {
    body: { apiVersion: 'v1', kind: 'Namespace', metadata: { generateName: 'conformance-' } },
  });
  if (created.status !== 201)
    throw new Error(`no namespace: ${created.status} ${textAt(created.body, 'message')}`);
  const name = textAt(created.body, 'metadata', 'name');
  try {
    await run(name);
  } finally {
    await call(target, 'DELETE', `/api/v1/namespaces/${name}`);
  }
}
