/** delete and deletecollection. */
import type { JsonObject } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import { readDeleteOptions } from './delete-options.ts';
import { formList, formObject } from './resource-exchange.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import { selectionOf } from './selection.ts';

export async function serveDelete(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, info, reply } = exchange;
  const options = await readDeleteOptions(exchange);
  const { object, removed } = cluster.objects.remove(definition, info.namespace, info.name, options);
  // What is only marked is shown as it is now; what is gone is confirmed, or shown as it was.
  await reply.json(
    !removed && options.asksForDependents ? 202 : 200,
    removed && !definition.shownWhenDeleted ? confirmation(definition, object) : formObject(exchange, object),
  );
}

export async function serveDeleteCollection(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, reply } = exchange;
  const options = await readDeleteOptions(exchange);
  const selects = selectionOf(exchange);
  const snapshot = cluster.objects.collection(definition).snapshot();
  const selected = (snapshot?.entries ?? []).map(([, object]) => object).filter(selects);
  const resourceVersion = String(cluster.objects.versions.revision);
  for (const object of selected)
    cluster.objects.remove(definition, namespaceOf(object), nameOf(object), options);
  await reply.json(200, formList(exchange, selected, { resourceVersion }));
}

function confirmation(definition: ResourceDefinition, object: KubeObject): JsonObject {
  const group = definition.group === '' ? {} : { group: definition.group };
  const details = { name: nameOf(object), ...group, kind: definition.resource, uid: object.metadata.uid };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
