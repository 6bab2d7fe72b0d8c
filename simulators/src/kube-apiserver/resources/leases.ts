import type { StatusCause } from '../api-error.ts';
import { numberAt, textAt } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { leaseSchema } from '../schema/core-schema.ts';
import { ageColumn, text } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { forbiddenField, invalidField } from './validation.ts';

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
  validate: validateLease,
});

function validateLease(lease: KubeObject): readonly StatusCause[] {
  const duration = numberAt(lease, 'spec', 'leaseDurationSeconds') ?? 1;
  const transitions = numberAt(lease, 'spec', 'leaseTransitions') ?? 0;
  const preferred =
    textAt(lease, 'spec', 'preferredHolder') !== '' && textAt(lease, 'spec', 'strategy') === '';
  return [
    ...(duration > 0 ? [] : [invalidField('spec.leaseDurationSeconds', duration, 'must be greater than 0')]),
    ...(transitions >= 0
      ? []
      : [invalidField('spec.leaseTransitions', transitions, 'must be greater than or equal to 0')]),
    ...(preferred
      ? [forbiddenField('spec.preferredHolder', 'may only be specified if `strategy` is defined')]
      : []),
  ];
}
