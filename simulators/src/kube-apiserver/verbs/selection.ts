/** Which objects a list, a watch or a deletecollection is about: namespace, name, labels and fields together. */
import { labelsOf, nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { parseFieldSelector } from '../selectors/field-selector.ts';
import { parseLabelSelector } from '../selectors/label-selector.ts';
import type { ResourceExchange } from './resource-exchange.ts';

export type Selection = (object: KubeObject) => boolean;

export function selectionOf({ definition, info, query }: ResourceExchange): Selection {
  const labels = parseLabelSelector(query.get('labelSelector') ?? '');
  const fields = parseFieldSelector(query.get('fieldSelector') ?? '', definition.selectableFields);
  const { namespace, name } = info;
  return (object) =>
    (namespace === '' || namespaceOf(object) === namespace) &&
    (name === '' || nameOf(object) === name) &&
    labels(labelsOf(object)) &&
    fields(object);
}

/** Whether more than the namespace narrows it; then what remains of a chunked list is not counted. */
export function isSelective(query: URLSearchParams): boolean {
  return (query.get('labelSelector') ?? '') !== '' || (query.get('fieldSelector') ?? '') !== '';
}
