/** Deployments and replica sets. */
import { conditionOf, conditions, kindSchema, labelSelector } from './meta-schema.ts';
import { podTemplate } from './pod-schema.ts';
import { bool, field, inline, int32, int64, intOrString, struct, text, time } from './schema.ts';
import type { Schema } from './schema.ts';

const apps = 'io.k8s.api.apps.v1';

const strategy = struct(`${apps}.DeploymentStrategy`, 'How old pods give way to new ones.', [], {
  type: text('RollingUpdate or Recreate.'),
  rollingUpdate: struct(`${apps}.RollingUpdateDeployment`, 'The pace of a rolling update.', [], {
    maxUnavailable: intOrString('How many pods may be missing meanwhile.'),
    maxSurge: intOrString('How many pods may be there in addition.'),
  }),
});

export const deploymentSchema: Schema = kindSchema(
  `${apps}.Deployment`,
  'Keeps a number of equal pods, and replaces them step by step when their template changes.',
  {
    spec: inline(
      struct(`${apps}.DeploymentSpec`, 'What is wanted.', ['selector', 'template'], {
        replicas: int32('How many pods are wanted.'),
        selector: field(labelSelector, 'Which pods are its own; cannot be changed.'),
        template: inline(podTemplate, 'What its pods are made from.'),
        strategy: inline(strategy, 'How old pods give way to new ones.'),
        minReadySeconds: int32('How long a pod has to be ready to count as available.'),
        revisionHistoryLimit: int32('How many former templates are kept.'),
        paused: bool('Whether changes of the template wait.'),
        progressDeadlineSeconds: int32('After how long without progress it counts as failed.'),
      }),
      'What is wanted.',
    ),
    status: inline(
      struct(`${apps}.DeploymentStatus`, 'What is there.', [], {
        observedGeneration: int64('The generation that this was found at.'),
        replicas: int32('Pods that are there.'),
        updatedReplicas: int32('Pods of the present template.'),
        readyReplicas: int32('Pods that are ready.'),
        availableReplicas: int32('Pods that are available.'),
        unavailableReplicas: int32('Pods that are missing.'),
        terminatingReplicas: int32('Pods that are on their way out.'),
        conditions: conditions(
          conditionOf(`${apps}.DeploymentCondition`, { lastUpdateTime: time('When it was last looked at.') }),
        ),
        collisionCount: int32('How often the name of a replica set was taken.'),
      }),
      'What is there.',
    ),
  },
);

export const replicaSetSchema: Schema = kindSchema(`${apps}.ReplicaSet`, 'Keeps a number of equal pods.', {
  spec: inline(
    struct(`${apps}.ReplicaSetSpec`, 'What is wanted.', ['selector'], {
      replicas: int32('How many pods are wanted.'),
      minReadySeconds: int32('How long a pod has to be ready to count as available.'),
      selector: field(labelSelector, 'Which pods are its own; cannot be changed.'),
      template: inline(podTemplate, 'What its pods are made from.'),
    }),
    'What is wanted.',
  ),
  status: inline(
    struct(`${apps}.ReplicaSetStatus`, 'What is there.', ['replicas'], {
      replicas: { ...int32('Pods that are there.'), default: 0 },
      fullyLabeledReplicas: int32('Pods with all labels of the template.'),
      readyReplicas: int32('Pods that are ready.'),
      availableReplicas: int32('Pods that are available.'),
      terminatingReplicas: int32('Pods that are on their way out.'),
      observedGeneration: int64('The generation that this was found at.'),
      conditions: conditions(conditionOf(`${apps}.ReplicaSetCondition`)),
    }),
    'What is there.',
  ),
});
