/** What OpenAPI v3 has a document for; a real server does not say that it is JSON. */
import { parseJson } from '../kube-apiserver/json.ts';
import type { Json } from '../kube-apiserver/json.ts';
import { call } from './target.ts';
import type { Target } from './target.ts';

export async function openApiIndex(target: Target): Promise<Json> {
  const { body } = await call(target, 'GET', '/openapi/v3');
  return typeof body === 'string' ? parseJson(body) : body;
}
