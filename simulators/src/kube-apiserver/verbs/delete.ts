/** delete and deletecollection. */
import { ApiError } from '../api-error.ts';
import { readBody } from '../exchange.ts';
import { numberAt, textAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import type { RemoveOptions } from '../store/object-store.ts';
import { formList, formObject, isDryRun } from './resource-exchange.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import { selectionOf } from './selection.ts';

export async function serveDelete(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, info, reply } = exchange;
  const options = await removeOptions(exchange);
  const { object, removed } = cluster.objects.remove(definition, info.namespace, info.name, options);
  // What is only marked is shown as it is now; what is gone is confirmed. Pods are always shown, as by the real server.
  await reply.json(
    200,
    removed && definition.kind !== 'Pod' ? confirmation(definition, object) : formObject(exchange, object),
  );
}

export async function serveDeleteCollection(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, reply } = exchange;
  const options = await removeOptions(exchange);
  const selects = selectionOf(exchange);
  const snapshot = cluster.objects.collection(definition).snapshot();
  const selected = (snapshot?.entries ?? []).map(([, object]) => object).filter(selects);
  for (const object of selected)
    cluster.objects.remove(definition, namespaceOf(object), nameOf(object), options);
  await reply.json(
    200,
    formList(exchange, selected, { resourceVersion: String(cluster.objects.versions.revision) }),
  );
}

/** From the body (DeleteOptions) or the query. */
async function removeOptions(exchange: ResourceExchange): Promise<RemoveOptions> {
  const body = await readBody(exchange);
  const grace = numberAt(body, 'gracePeriodSeconds') ?? seconds(exchange.query.get('gracePeriodSeconds'));
  const preconditions = {
    uid: textAt(body, 'preconditions', 'uid'),
    resourceVersion: textAt(body, 'preconditions', 'resourceVersion'),
  };
  return { gracePeriodSeconds: grace, preconditions, dryRun: isDryRun(exchange.query) || hasDryRun(body) };
}

function hasDryRun(body: Json | undefined): boolean {
  const given = (body as JsonObject | undefined)?.['dryRun'];
  return Array.isArray(given) && given.includes('All');
}

function seconds(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^\d{1,9}$/.test(text)) throw ApiError.badRequest(`gracePeriodSeconds: Invalid value: "${text}"`);
  return Number(text);
}

function confirmation(definition: ResourceDefinition, object: KubeObject): JsonObject {
  const group = definition.group === '' ? {} : { group: definition.group };
  const details = { name: nameOf(object), ...group, kind: definition.resource, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
