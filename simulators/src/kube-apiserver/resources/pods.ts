import { isJsonObject, listAt, numberAt, objectAt, textAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { podSchema } from '../schema/pod-schema.ts';
import { age } from '../printing/human-duration.ts';
import { ageColumn, text, wide } from './columns.ts';
import { defaultPodSpec } from './pod-spec.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { validatePodSpec } from './validation.ts';

export const pods: ResourceDefinition = defineResource({
  resource: 'pods',
  singular: 'pod',
  kind: 'Pod',
  namespaced: true,
  shortNames: ['po'],
  categories: ['all'],
  hasStatus: true,
  schema: podSchema,
  serverFields: ['serviceAccount', 'serviceAccountName', 'tolerations', 'priority', 'preemptionPolicy'].map(
    (name) => ['spec', name],
  ),
  columns: [
    text('Ready', readiness, 'The aggregate readiness state of this pod for accepting traffic.'),
    text('Status', podStatus, 'The aggregate status of the containers in this pod.'),
    text('Restarts', restarts, 'The number of times the containers in this pod have been restarted.'),
    ageColumn,
    wide(text('IP', (pod) => textAt(pod, 'status', 'podIP') || '<none>')),
    wide(text('Node', (pod) => textAt(pod, 'spec', 'nodeName') || '<none>')),
    wide(text('Nominated Node', (pod) => textAt(pod, 'status', 'nominatedNodeName') || '<none>')),
    wide(text('Readiness Gates', readinessGates)),
  ],
  selectableFields: {
    'spec.nodeName': (pod) => textAt(pod, 'spec', 'nodeName'),
    'spec.restartPolicy': (pod) => textAt(pod, 'spec', 'restartPolicy'),
    'spec.schedulerName': (pod) => textAt(pod, 'spec', 'schedulerName'),
    'spec.serviceAccountName': (pod) => textAt(pod, 'spec', 'serviceAccountName'),
    'spec.hostNetwork': (pod) => String(objectAt(pod, 'spec')['hostNetwork'] === true),
    'status.phase': (pod) => textAt(pod, 'status', 'phase'),
    'status.podIP': (pod) => textAt(pod, 'status', 'podIP'),
    'status.nominatedNodeName': (pod) => textAt(pod, 'status', 'nominatedNodeName'),
  },
  default: (pod) => {
    const status = objectAt(pod, 'status');
    return {
      ...pod,
      spec: defaultPodSpec(objectAt(pod, 'spec')),
      status: {
        ...status,
        phase: status['phase'] ?? 'Pending',
        qosClass: status['qosClass'] ?? qosClass(pod),
      },
    };
  },
  validate: (pod) => validatePodSpec(pod['spec'], 'spec'),
  gracePeriodSeconds: (pod, asked) => {
    const ended = ['Failed', 'Succeeded'].includes(textAt(pod, 'status', 'phase'));
    // Where no kubelet has it, or no longer, there is nothing to wait for.
    if (ended || textAt(pod, 'spec', 'nodeName') === '') return 0;
    return asked ?? numberAt(pod, 'spec', 'terminationGracePeriodSeconds') ?? 30;
  },
  shownWhenDeleted: true,
});

function readiness(pod: KubeObject): string {
  const ready = listAt(pod, 'status', 'containerStatuses').filter(
    (status) => objectAt(status)['ready'] === true,
  ).length;
  return `${ready}/${listAt(pod, 'spec', 'containers').length}`;
}

/** The rules of printPod in kubernetes/pkg/printers, without init containers that restart. */
function podStatus(pod: KubeObject): string {
  let reason = textAt(pod, 'status', 'reason') || textAt(pod, 'status', 'phase') || 'Unknown';
  for (const status of listAt(pod, 'status', 'containerStatuses').toReversed()) {
    const waiting = textAt(status, 'state', 'waiting', 'reason');
    const terminated = objectAt(status, 'state')['terminated'];
    if (waiting !== '') reason = waiting;
    else if (isJsonObject(terminated)) reason = terminationReason(terminated);
  }
  if (pod.metadata.deletionTimestamp === undefined) return reason;
  return textAt(pod, 'status', 'reason') === 'NodeLost' ? 'Unknown' : 'Terminating';
}

function terminationReason(terminated: JsonObject): string {
  const reason = textAt(terminated, 'reason');
  if (reason !== '') return reason;
  const signal = numberAt(terminated, 'signal') ?? 0;
  return signal === 0 ? `ExitCode:${numberAt(terminated, 'exitCode') ?? 0}` : `Signal:${signal}`;
}

function restarts(pod: KubeObject, now: number): string | number {
  const statuses = listAt(pod, 'status', 'containerStatuses');
  const count = statuses.reduce<number>((sum, status) => sum + (numberAt(status, 'restartCount') ?? 0), 0);
  const last =
    statuses
      .map((status) => textAt(status, 'lastState', 'terminated', 'finishedAt'))
      .toSorted()
      .at(-1) ?? '';
  return count === 0 || last === '' ? String(count) : `${count} (${age(last, now)} ago)`;
}

function readinessGates(pod: KubeObject): string {
  const gates = listAt(pod, 'spec', 'readinessGates');
  if (gates.length === 0) return '<none>';
  const isTrue = (gate: Json) =>
    listAt(pod, 'status', 'conditions').some(
      (condition) =>
        textAt(condition, 'type') === textAt(gate, 'conditionType') && textAt(condition, 'status') === 'True',
    );
  return `${gates.filter(isTrue).length}/${gates.length}`;
}

function qosClass(pod: KubeObject): string {
  const resources = listAt(pod, 'spec', 'containers').map((container) => objectAt(container, 'resources'));
  if (
    resources.every(
      (given) =>
        Object.keys(objectAt(given, 'requests')).length + Object.keys(objectAt(given, 'limits')).length === 0,
    )
  )
    return 'BestEffort';
  const guaranteed = resources.every((given) =>
    ['cpu', 'memory'].every((name) => {
      const limit = objectAt(given, 'limits')[name];
      return limit !== undefined && (objectAt(given, 'requests')[name] ?? limit) === limit;
    }),
  );
  return guaranteed ? 'Guaranteed' : 'Burstable';
}
