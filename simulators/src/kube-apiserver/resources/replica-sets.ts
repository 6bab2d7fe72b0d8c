import { numberAt, objectAt } from '../json.ts';
import { replicaSetSchema } from '../schema/workload-schema.ts';
import { ageColumn, integer, podTemplateColumns } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { defaultTemplate, validateWorkload, workloadScale } from './workload-spec.ts';

export const replicaSets: ResourceDefinition = defineResource({
  group: 'apps',
  resource: 'replicasets',
  singular: 'replicaset',
  kind: 'ReplicaSet',
  namespaced: true,
  shortNames: ['rs'],
  categories: ['all'],
  hasStatus: true,
  scale: workloadScale,
  schema: replicaSetSchema,
  columns: [
    integer('Desired', (set) => numberAt(set, 'spec', 'replicas')),
    integer('Current', (set) => numberAt(set, 'status', 'replicas')),
    integer('Ready', (set) => numberAt(set, 'status', 'readyReplicas')),
    ageColumn,
    ...podTemplateColumns,
  ],
  selectableFields: { 'status.replicas': (set) => String(numberAt(set, 'status', 'replicas') ?? 0) },
  default: (set) => {
    const spec = objectAt(set, 'spec');
    return {
      ...set,
      spec: {
        ...spec,
        replicas: spec['replicas'] ?? 1,
        template: defaultTemplate(objectAt(spec, 'template')),
      },
      status: { replicas: 0, ...objectAt(set, 'status') },
    };
  },
  validate: validateWorkload,
});
