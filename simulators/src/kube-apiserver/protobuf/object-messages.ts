/** The objects that clients may send in protobuf, by apiVersion and kind. Status is left out: nobody creates it. */
import { accessMessages } from './access-messages.ts';
import { deleteOptions, labelSelector, objectMeta } from './meta-messages.ts';
import { list, map, message, one, pointer, text } from './message-schema.ts';
import type { MessageSchema } from './message-schema.ts';
import { localObjectReference, podSpec, podTemplateSpec } from './pod-messages.ts';

const configMap = message('ConfigMap', {
  1: one('metadata', objectMeta),
  2: map('data'),
  3: map('binaryData', 'bytes'),
  4: pointer('immutable', 'bool'),
});

const secret = message('Secret', {
  1: one('metadata', objectMeta),
  2: map('data', 'bytes'),
  3: text('type'),
  4: map('stringData'),
  5: pointer('immutable', 'bool'),
});

const namespace = message('Namespace', {
  1: one('metadata', objectMeta),
  2: one('spec', message('NamespaceSpec', { 1: list('finalizers') })),
  3: one('status', 'unread'),
});

const objectReferenceFields = {
  1: text('kind'),
  2: text('namespace'),
  3: text('name'),
  4: text('uid'),
  5: text('apiVersion'),
  6: text('resourceVersion'),
  7: text('fieldPath'),
};
const objectReference = message('ObjectReference', objectReferenceFields);

const serviceAccount = message('ServiceAccount', {
  1: one('metadata', objectMeta),
  2: list('secrets', objectReference),
  3: list('imagePullSecrets', localObjectReference),
  4: pointer('automountServiceAccountToken', 'bool'),
});

const servicePort = message('ServicePort', {
  1: text('name'),
  2: text('protocol'),
  3: one('port', 'int'),
  4: one('targetPort', 'intOrString'),
  5: one('nodePort', 'int'),
  6: text('appProtocol'),
});

const service = message('Service', {
  1: one('metadata', objectMeta),
  2: one(
    'spec',
    message('ServiceSpec', {
      1: list('ports', servicePort),
      2: map('selector'),
      3: text('clusterIP'),
      4: text('type'),
      5: list('externalIPs'),
      7: text('sessionAffinity'),
      8: text('loadBalancerIP'),
      9: list('loadBalancerSourceRanges'),
      10: text('externalName'),
      11: text('externalTrafficPolicy'),
      12: one('healthCheckNodePort', 'int'),
      13: one('publishNotReadyAddresses', 'bool'),
      17: text('ipFamilyPolicy'),
      18: list('clusterIPs'),
      19: list('ipFamilies'),
      20: pointer('allocateLoadBalancerNodePorts', 'bool'),
      22: text('internalTrafficPolicy'),
    }),
  ),
  3: one('status', 'unread'),
});

const pod = message('Pod', {
  1: one('metadata', objectMeta),
  2: one('spec', podSpec),
  3: one('status', 'unread'),
});

const deployment = message('Deployment', {
  1: one('metadata', objectMeta),
  2: one(
    'spec',
    message('DeploymentSpec', {
      1: pointer('replicas', 'int'),
      2: one('selector', labelSelector),
      3: one('template', podTemplateSpec),
      4: one(
        'strategy',
        message('DeploymentStrategy', {
          1: text('type'),
          2: one(
            'rollingUpdate',
            message('RollingUpdateDeployment', {
              1: one('maxUnavailable', 'intOrString'),
              2: one('maxSurge', 'intOrString'),
            }),
          ),
        }),
      ),
      5: one('minReadySeconds', 'int'),
      6: pointer('revisionHistoryLimit', 'int'),
      7: one('paused', 'bool'),
      9: pointer('progressDeadlineSeconds', 'int'),
    }),
  ),
  3: one('status', 'unread'),
});

export const objectMessages: Readonly<Record<string, MessageSchema>> = {
  'v1/ConfigMap': configMap,
  'v1/Secret': secret,
  'v1/Namespace': namespace,
  'v1/ServiceAccount': serviceAccount,
  'v1/Service': service,
  'v1/Pod': pod,
  'v1/DeleteOptions': deleteOptions,
  'meta.k8s.io/v1/DeleteOptions': deleteOptions,
  'apps/v1/Deployment': deployment,
  ...accessMessages,
};
