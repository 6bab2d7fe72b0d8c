import { numberAt, objectAt } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { deploymentSchema } from '../schema/workload-schema.ts';
import { ageColumn, integer, podTemplateColumns, text } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { defaultTemplate, validateWorkload, workloadScale } from './workload-spec.ts';

export const deployments: ResourceDefinition = defineResource({
  group: 'apps',
  resource: 'deployments',
  singular: 'deployment',
  kind: 'Deployment',
  namespaced: true,
  shortNames: ['deploy'],
  categories: ['all'],
  hasStatus: true,
  scale: workloadScale,
  schema: deploymentSchema,
  columns: [
    text(
      'Ready',
      (deployment) =>
        `${numberAt(deployment, 'status', 'readyReplicas') ?? 0}/${numberAt(deployment, 'spec', 'replicas') ?? 0}`,
    ),
    integer('Up-to-date', (deployment) => numberAt(deployment, 'status', 'updatedReplicas')),
    integer('Available', (deployment) => numberAt(deployment, 'status', 'availableReplicas')),
    ageColumn,
    ...podTemplateColumns,
  ],
  default: (deployment) => ({
    ...deployment,
    spec: defaultSpec(objectAt(deployment, 'spec')),
    status: objectAt(deployment, 'status'),
  }),
  validate: (deployment: KubeObject, previous) => validateWorkload(deployment, previous),
});

function defaultSpec(spec: JsonObject): JsonObject {
  return {
    ...spec,
    replicas: spec['replicas'] ?? 1,
    revisionHistoryLimit: spec['revisionHistoryLimit'] ?? 10,
    progressDeadlineSeconds: spec['progressDeadlineSeconds'] ?? 600,
    strategy: {
      type: 'RollingUpdate',
      ...rollingUpdate(objectAt(spec, 'strategy')),
      ...objectAt(spec, 'strategy'),
    },
    template: defaultTemplate(objectAt(spec, 'template')),
  };
}

function rollingUpdate(strategy: JsonObject): JsonObject {
  return (strategy['type'] ?? 'RollingUpdate') === 'RollingUpdate'
    ? { rollingUpdate: { maxSurge: '25%', maxUnavailable: '25%' } }
    : {};
}
