/** Defaults of a pod's spec, in pods and in templates; what `kubectl get -o yaml` shows of the real server. */
import { isJsonObject, listAt, textAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';

export function defaultPodSpec(spec: JsonObject): JsonObject {
  const serviceAccount = textAt(spec, 'serviceAccountName') || textAt(spec, 'serviceAccount') || 'default';
  return {
    ...defaultTemplateSpec(spec),
    serviceAccountName: serviceAccount,
    serviceAccount,
    enableServiceLinks: spec['enableServiceLinks'] ?? true,
    preemptionPolicy: spec['preemptionPolicy'] ?? 'PreemptLowerPriority',
    priority: spec['priority'] ?? 0,
    tolerations: spec['tolerations'] ?? [
      {
        key: 'node.kubernetes.io/not-ready',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      },
      {
        key: 'node.kubernetes.io/unreachable',
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      },
    ],
  };
}

/** What a template gets; the rest is filled in when a pod is made of it. */
export function defaultTemplateSpec(spec: JsonObject): JsonObject {
  return {
    ...spec,
    ...(spec['containers'] === undefined
      ? {}
      : { containers: listAt(spec, 'containers').map(defaultContainer) }),
    ...(spec['initContainers'] === undefined
      ? {}
      : { initContainers: listAt(spec, 'initContainers').map(defaultContainer) }),
    restartPolicy: spec['restartPolicy'] ?? 'Always',
    terminationGracePeriodSeconds: spec['terminationGracePeriodSeconds'] ?? 30,
    dnsPolicy: spec['dnsPolicy'] ?? 'ClusterFirst',
    securityContext: spec['securityContext'] ?? {},
    schedulerName: spec['schedulerName'] ?? 'default-scheduler',
  };
}

function defaultContainer(container: Json): Json {
  if (!isJsonObject(container)) return container;
  const image = textAt(container, 'image');
  const floating = image.endsWith(':latest') || !/[:@]/.test(image.slice(image.lastIndexOf('/') + 1));
  return {
    ...container,
    ...(container['ports'] === undefined
      ? {}
      : {
          ports: listAt(container, 'ports').map((port) =>
            isJsonObject(port) ? { ...port, protocol: port['protocol'] ?? 'TCP' } : port,
          ),
        }),
    resources: container['resources'] ?? {},
    terminationMessagePath: container['terminationMessagePath'] ?? '/dev/termination-log',
    terminationMessagePolicy: container['terminationMessagePolicy'] ?? 'File',
    imagePullPolicy: container['imagePullPolicy'] ?? (floating ? 'Always' : 'IfNotPresent'),
  };
}
