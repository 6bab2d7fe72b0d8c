import { textAt } from '../json.ts';
import { leaseSchema } from '../schema/core-schema.ts';
import { ageColumn, text } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

export const leases: ResourceDefinition = defineResource({
  group: 'coordination.k8s.io',
  resource: 'leases',
  singular: 'lease',
  kind: 'Lease',
  namespaced: true,
  schema: leaseSchema,
  versionedUpdates: true,
  createdByUpdate: true,
  columns: [text('Holder', (lease) => textAt(lease, 'spec', 'holderIdentity')), ageColumn],
});
