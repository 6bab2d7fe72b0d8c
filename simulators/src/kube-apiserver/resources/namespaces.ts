import { objectAt, textAt } from '../json.ts';
import { nameOf } from '../kube-object.ts';
import { namespaceSchema } from '../schema/core-schema.ts';
import { ageColumn, text } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

export const namespaces: ResourceDefinition = defineResource({
  resource: 'namespaces',
  singular: 'namespace',
  kind: 'Namespace',
  namespaced: false,
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  hasStatus: true,
  schema: namespaceSchema,
  columns: [
    text('Status', (namespace) => textAt(namespace, 'status', 'phase'), 'The status of the namespace'),
    ageColumn,
  ],
  selectableFields: { 'status.phase': (namespace) => textAt(namespace, 'status', 'phase') },
  default: (namespace) => ({
    ...namespace,
    metadata: {
      ...namespace.metadata,
      labels: { ...namespace.metadata.labels, 'kubernetes.io/metadata.name': nameOf(namespace) },
    },
    spec: { finalizers: ['kubernetes'], ...objectAt(namespace, 'spec') },
    status: {
      ...objectAt(namespace, 'status'),
      phase: namespace.metadata.deletionTimestamp === undefined ? 'Active' : 'Terminating',
    },
  }),
  holdsContent: true,
});
