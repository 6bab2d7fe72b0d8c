/** The pod in k8s.io/api/core/v1/generated.proto, with the fields that programs commonly set. */
import { embedded, list, map, message, one, pointer, text } from './message-schema.ts';
import { objectMeta } from './meta-messages.ts';

export const localObjectReference = message('LocalObjectReference', { 1: text('name') });

const keySelector = message('KeySelector', {
  1: embedded(localObjectReference),
  2: text('key'),
  3: pointer('optional', 'bool'),
});
const envSource = message('EnvSource', { 1: embedded(localObjectReference), 2: pointer('optional', 'bool') });

const envVar = message('EnvVar', {
  1: text('name'),
  2: text('value'),
  3: one(
    'valueFrom',
    message('EnvVarSource', {
      1: one('fieldRef', message('ObjectFieldSelector', { 1: text('apiVersion'), 2: text('fieldPath') })),
      3: one('configMapKeyRef', keySelector),
      4: one('secretKeyRef', keySelector),
    }),
  ),
});

const envFrom = message('EnvFromSource', {
  1: text('prefix'),
  2: one('configMapRef', envSource),
  3: one('secretRef', envSource),
});

const execAction = message('ExecAction', { 1: list('command') });
const httpGetAction = message('HTTPGetAction', {
  1: text('path'),
  2: one('port', 'intOrString'),
  3: text('host'),
  4: text('scheme'),
  5: list('httpHeaders', message('HTTPHeader', { 1: text('name'), 2: text('value') })),
});
const tcpSocketAction = message('TCPSocketAction', { 1: one('port', 'intOrString'), 2: text('host') });
const handler = message('Handler', {
  1: one('exec', execAction),
  2: one('httpGet', httpGetAction),
  3: one('tcpSocket', tcpSocketAction),
});

const probe = message('Probe', {
  1: embedded(handler),
  2: one('initialDelaySeconds', 'int'),
  3: one('timeoutSeconds', 'int'),
  4: one('periodSeconds', 'int'),
  5: one('successThreshold', 'int'),
  6: one('failureThreshold', 'int'),
  7: pointer('terminationGracePeriodSeconds', 'int'),
});

const seccompProfile = message('SeccompProfile', { 1: text('type'), 2: text('localhostProfile') });

const securityContext = message('SecurityContext', {
  1: one('capabilities', message('Capabilities', { 1: list('add'), 2: list('drop') })),
  2: pointer('privileged', 'bool'),
  4: pointer('runAsUser', 'int'),
  5: pointer('runAsNonRoot', 'bool'),
  6: pointer('readOnlyRootFilesystem', 'bool'),
  7: pointer('allowPrivilegeEscalation', 'bool'),
  8: pointer('runAsGroup', 'int'),
  9: text('procMount'),
  11: one('seccompProfile', seccompProfile),
});

const container = message('Container', {
  1: text('name'),
  2: text('image'),
  3: list('command'),
  4: list('args'),
  5: text('workingDir'),
  6: list(
    'ports',
    message('ContainerPort', {
      1: text('name'),
      2: one('hostPort', 'int'),
      3: one('containerPort', 'int'),
      4: text('protocol'),
      5: text('hostIP'),
    }),
  ),
  7: list('env', envVar),
  8: one(
    'resources',
    message('ResourceRequirements', { 1: map('limits', 'quantity'), 2: map('requests', 'quantity') }),
  ),
  9: list(
    'volumeMounts',
    message('VolumeMount', {
      1: text('name'),
      2: one('readOnly', 'bool'),
      3: text('mountPath'),
      4: text('subPath'),
      5: text('mountPropagation'),
      6: text('subPathExpr'),
    }),
  ),
  10: one('livenessProbe', probe),
  11: one('readinessProbe', probe),
  12: one('lifecycle', message('Lifecycle', { 1: one('postStart', handler), 2: one('preStop', handler) })),
  13: text('terminationMessagePath'),
  14: text('imagePullPolicy'),
  15: one('securityContext', securityContext),
  16: one('stdin', 'bool'),
  17: one('stdinOnce', 'bool'),
  18: one('tty', 'bool'),
  19: list('envFrom', envFrom),
  20: text('terminationMessagePolicy'),
  22: one('startupProbe', probe),
  24: text('restartPolicy'),
});

const keyToPath = message('KeyToPath', { 1: text('key'), 2: text('path'), 3: pointer('mode', 'int') });

const volume = message('Volume', {
  1: text('name'),
  2: embedded(
    message('VolumeSource', {
      1: one('hostPath', message('HostPathVolumeSource', { 1: text('path'), 2: text('type') })),
      2: one(
        'emptyDir',
        message('EmptyDirVolumeSource', { 1: text('medium'), 2: one('sizeLimit', 'quantity') }),
      ),
      6: one(
        'secret',
        message('SecretVolumeSource', {
          1: text('secretName'),
          2: list('items', keyToPath),
          3: pointer('defaultMode', 'int'),
          4: pointer('optional', 'bool'),
        }),
      ),
      10: one(
        'persistentVolumeClaim',
        message('PersistentVolumeClaimVolumeSource', { 1: text('claimName'), 2: one('readOnly', 'bool') }),
      ),
      19: one(
        'configMap',
        message('ConfigMapVolumeSource', {
          1: embedded(localObjectReference),
          2: list('items', keyToPath),
          3: pointer('defaultMode', 'int'),
          4: pointer('optional', 'bool'),
        }),
      ),
    }),
  ),
});

const toleration = message('Toleration', {
  1: text('key'),
  2: text('operator'),
  3: text('value'),
  4: text('effect'),
  5: pointer('tolerationSeconds', 'int'),
});

const podSecurityContext = message('PodSecurityContext', {
  2: pointer('runAsUser', 'int'),
  3: pointer('runAsNonRoot', 'bool'),
  4: list('supplementalGroups', 'int'),
  5: pointer('fsGroup', 'int'),
  6: pointer('runAsGroup', 'int'),
  10: one('seccompProfile', seccompProfile),
});

export const podSpec = message('PodSpec', {
  1: list('volumes', volume),
  2: list('containers', container),
  3: text('restartPolicy'),
  4: pointer('terminationGracePeriodSeconds', 'int'),
  5: pointer('activeDeadlineSeconds', 'int'),
  6: text('dnsPolicy'),
  7: map('nodeSelector'),
  8: text('serviceAccountName'),
  9: text('serviceAccount'),
  10: text('nodeName'),
  11: one('hostNetwork', 'bool'),
  12: one('hostPID', 'bool'),
  13: one('hostIPC', 'bool'),
  14: one('securityContext', podSecurityContext),
  15: list('imagePullSecrets', localObjectReference),
  16: text('hostname'),
  17: text('subdomain'),
  19: text('schedulerName'),
  20: list('initContainers', container),
  21: pointer('automountServiceAccountToken', 'bool'),
  22: list('tolerations', toleration),
  24: text('priorityClassName'),
  25: pointer('priority', 'int'),
  27: pointer('shareProcessNamespace', 'bool'),
  29: text('runtimeClassName'),
  30: pointer('enableServiceLinks', 'bool'),
  31: text('preemptionPolicy'),
});

export const podTemplateSpec = message('PodTemplateSpec', {
  1: one('metadata', objectMeta),
  2: one('spec', podSpec),
});
