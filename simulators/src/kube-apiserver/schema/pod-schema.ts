/** The pod, and the template of one. */
import {
  container,
  ephemeralContainer,
  resources,
  appArmorProfile,
  seccompProfile,
  seLinuxOptions,
  windowsOptions,
} from './container-schema.ts';
import { conditionOf, conditions, kindSchema, labelSelector, objectMeta } from './meta-schema.ts';
import {
  atomic,
  bool,
  field,
  inline,
  int32,
  int64,
  list,
  mapList,
  mapOf,
  quantity,
  struct,
  text,
  texts,
  time,
} from './schema.ts';
import type { Schema } from './schema.ts';
import { localReference, volume } from './volume-schema.ts';

const core = 'io.k8s.api.core.v1';

const selectorTerm = atomic(
  struct(`${core}.NodeSelectorTerm`, 'Conditions on a node; all have to hold.', [], {
    matchExpressions: list(nodeRequirement(), 'On its labels.'),
    matchFields: list(nodeRequirement(), 'On its fields.'),
  }),
);

const nodeSelector: Schema = atomic(
  struct(`${core}.NodeSelector`, 'Which nodes; one of the terms has to match.', ['nodeSelectorTerms'], {
    nodeSelectorTerms: list(selectorTerm, 'The terms.'),
  }),
);

function nodeRequirement(): Schema {
  return struct(`${core}.NodeSelectorRequirement`, 'A key, a relation and values.', ['key', 'operator'], {
    key: text('The label or field.', { default: '' }),
    operator: text('In, NotIn, Exists, DoesNotExist, Gt or Lt.', { default: '' }),
    values: texts('The values.'),
  });
}

const weight = { ...int32('How much it counts, from 1 to 100.'), default: 0 };

const podTerm = struct(`${core}.PodAffinityTerm`, 'Pods to be near to, or far from.', ['topologyKey'], {
  labelSelector: field(labelSelector, 'Which pods.'),
  namespaces: texts('Their namespaces.'),
  namespaceSelector: field(labelSelector, 'Their namespaces, by label.'),
  topologyKey: text('The label of nodes within which pods are near.', { default: '' }),
  matchLabelKeys: texts('Labels whose values have to be the pod’s own.'),
  mismatchLabelKeys: texts('Labels whose values have to differ from the pod’s own.'),
});

const podTerms: Readonly<Record<string, Schema>> = {
  requiredDuringSchedulingIgnoredDuringExecution: list(podTerm, 'Has to hold.'),
  preferredDuringSchedulingIgnoredDuringExecution: list(
    struct(`${core}.WeightedPodAffinityTerm`, 'A wish with a weight.', ['weight', 'podAffinityTerm'], {
      weight,
      podAffinityTerm: inline(podTerm, 'The wish.'),
    }),
    'Should hold.',
  ),
};

const affinity = struct(`${core}.Affinity`, 'Where the pod wants to be.', [], {
  nodeAffinity: struct(`${core}.NodeAffinity`, 'On which nodes.', [], {
    requiredDuringSchedulingIgnoredDuringExecution: field(nodeSelector, 'Has to hold.'),
    preferredDuringSchedulingIgnoredDuringExecution: list(
      struct(`${core}.PreferredSchedulingTerm`, 'A wish with a weight.', ['weight', 'preference'], {
        weight,
        preference: inline(selectorTerm, 'The wish.'),
      }),
      'Should hold.',
    ),
  }),
  podAffinity: struct(`${core}.PodAffinity`, 'Near which pods.', [], podTerms),
  podAntiAffinity: struct(`${core}.PodAntiAffinity`, 'Far from which pods.', [], podTerms),
});

const toleration = struct(`${core}.Toleration`, 'A taint of nodes that does not keep the pod away.', [], {
  key: text('The taint; all of them when empty.'),
  operator: text('Equal or Exists.'),
  value: text('Its value.'),
  effect: text('Its effect; all of them when empty.'),
  tolerationSeconds: int64('How long NoExecute is put up with.'),
});

const securityContext = struct(
  `${core}.PodSecurityContext`,
  'What holds for all containers of the pod.',
  [],
  {
    seLinuxOptions: field(seLinuxOptions, 'SELinux context.'),
    windowsOptions: field(windowsOptions, 'For Windows nodes.'),
    runAsUser: int64('The user id.'),
    runAsGroup: int64('The group id.'),
    runAsNonRoot: bool('Whether user id 0 is refused.'),
    supplementalGroups: list(int64(''), 'Further group ids.'),
    supplementalGroupsPolicy: text('Whether groups of the image count.'),
    fsGroup: int64('The group that volumes belong to.'),
    fsGroupChangePolicy: text('When the group of files is changed.'),
    sysctls: list(
      struct(`${core}.Sysctl`, 'A setting of the kernel.', ['name', 'value'], {
        name: text('Its name.', { default: '' }),
        value: text('Its value.', { default: '' }),
      }),
      'Settings of the kernel.',
    ),
    seccompProfile: field(seccompProfile, 'Filter of system calls.'),
    appArmorProfile: field(appArmorProfile, 'AppArmor profile.'),
    seLinuxChangePolicy: text('How volumes are relabelled.'),
  },
);

const spread = struct(
  `${core}.TopologySpreadConstraint`,
  'How evenly pods are spread.',
  ['maxSkew', 'topologyKey', 'whenUnsatisfiable'],
  {
    maxSkew: { ...int32('The largest difference.'), default: 0 },
    topologyKey: text('The label of nodes that makes a domain.', { default: '' }),
    whenUnsatisfiable: text('DoNotSchedule or ScheduleAnyway.', { default: '' }),
    labelSelector: field(labelSelector, 'Which pods are counted.'),
    minDomains: int32('The least number of domains.'),
    nodeAffinityPolicy: text('Whether node affinity narrows the domains.'),
    nodeTaintsPolicy: text('Whether taints narrow the domains.'),
    matchLabelKeys: texts('Labels whose values have to be the pod’s own.'),
  },
);

const podSpec: Schema = struct(`${core}.PodSpec`, 'What a pod runs and where.', ['containers'], {
  volumes: mapList(volume, ['name'], 'Volumes that its containers can mount.'),
  initContainers: mapList(
    container,
    ['name'],
    'Containers that run to their end, one by one, before the others.',
  ),
  containers: mapList(container, ['name'], 'The containers of the pod; at least one.'),
  ephemeralContainers: mapList(ephemeralContainer, ['name'], 'Containers added for looking into the pod.'),
  restartPolicy: text('Always, OnFailure or Never.'),
  terminationGracePeriodSeconds: int64('How many seconds the pod may take to stop.'),
  activeDeadlineSeconds: int64('How long the pod may run.'),
  dnsPolicy: text('How names are resolved.'),
  dnsConfig: struct(`${core}.PodDNSConfig`, 'Settings of name resolution.', [], {
    nameservers: texts('Servers.'),
    searches: texts('Domains to search.'),
    options: list(
      struct(`${core}.PodDNSConfigOption`, 'An option of the resolver.', [], {
        name: text('Its name.'),
        value: text('Its value.'),
      }),
      'Options of the resolver.',
    ),
  }),
  nodeSelector: { ...mapOf('Labels that a node has to have.'), mapType: 'atomic' },
  serviceAccountName: text('The service account that it runs as.'),
  serviceAccount: text('The same, under its old name.'),
  automountServiceAccountToken: bool('Whether a token is mounted.'),
  nodeName: text('The node that it runs on.'),
  hostNetwork: bool('Whether it uses the network of the node.'),
  hostPID: bool('Whether it sees the processes of the node.'),
  hostIPC: bool('Whether it shares memory with the node.'),
  hostUsers: bool('Whether it uses the user ids of the node.'),
  shareProcessNamespace: bool('Whether its containers see each other’s processes.'),
  securityContext: field(securityContext, 'What holds for all its containers.'),
  imagePullSecrets: mapList(localReference, ['name'], 'Secrets for pulling images.'),
  hostname: text('Its host name.'),
  hostnameOverride: text('Its host name, whatever its network is.'),
  subdomain: text('Its domain below the namespace’s.'),
  setHostnameAsFQDN: bool('Whether its host name is the full one.'),
  affinity: field(affinity, 'Where it wants to be.'),
  schedulerName: text('The scheduler that places it.'),
  tolerations: list(toleration, 'Taints that do not keep it away.'),
  hostAliases: mapList(
    struct(`${core}.HostAlias`, 'A line of the hosts file.', ['ip'], {
      ip: text('The address.', { default: '' }),
      hostnames: texts('The names.'),
    }),
    ['ip'],
    'Lines of its hosts file.',
  ),
  priorityClassName: text('Its class of priority.'),
  priority: int32('Its priority.'),
  preemptionPolicy: text('Whether it may push others out.'),
  readinessGates: list(
    struct(`${core}.PodReadinessGate`, 'A condition that counts for being ready.', ['conditionType'], {
      conditionType: text('The condition.', { default: '' }),
    }),
    'Further conditions for being ready.',
  ),
  runtimeClassName: text('The class of its runtime.'),
  enableServiceLinks: bool('Whether services appear in its environment.'),
  overhead: mapOf('What the pod itself needs.', quantity('')),
  topologySpreadConstraints: mapList(
    spread,
    ['topologyKey', 'whenUnsatisfiable'],
    'How it is spread among its like.',
  ),
  os: struct(`${core}.PodOS`, 'The operating system.', ['name'], {
    name: text('linux or windows.', { default: '' }),
  }),
  schedulingGates: mapList(
    struct(`${core}.PodSchedulingGate`, 'What keeps the pod from being placed.', ['name'], {
      name: text('Its name.', { default: '' }),
    }),
    ['name'],
    'What keeps it from being placed.',
  ),
  resourceClaims: mapList(
    struct(`${core}.PodResourceClaim`, 'A claim on devices.', ['name'], {
      name: text('Its name.', { default: '' }),
      resourceClaimName: text('The claim.'),
      resourceClaimTemplateName: text('The template of the claim.'),
    }),
    ['name'],
    'Claims on devices.',
  ),
  resources: field(resources, 'What the pod as a whole needs and may use.'),
  workloadRef: struct(`${core}.WorkloadReference`, 'The workload that it is part of.', ['name', 'podGroup'], {
    name: text('The workload.', { default: '' }),
    podGroup: text('The group in it.', { default: '' }),
    podGroupReplicaKey: text('The replica of the group.'),
  }),
});

export const podTemplate: Schema = struct(`${core}.PodTemplateSpec`, 'What pods are made from.', [], {
  metadata: inline(objectMeta, 'Labels and annotations of the pods.'),
  spec: inline(podSpec, 'What the pods run and where.'),
});

const containerState = struct(`${core}.ContainerState`, 'How a container fares; one of the three.', [], {
  waiting: struct(`${core}.ContainerStateWaiting`, 'It does not run yet.', [], {
    reason: text('Why, as one word.'),
    message: text('Why, for people.'),
  }),
  running: struct(`${core}.ContainerStateRunning`, 'It runs.', [], { startedAt: time('Since when.') }),
  terminated: struct(`${core}.ContainerStateTerminated`, 'It has ended.', ['exitCode'], {
    exitCode: { ...int32('Its exit code.'), default: 0 },
    signal: int32('The signal that ended it.'),
    reason: text('Why, as one word.'),
    message: text('Why, for people.'),
    startedAt: time('When it started.'),
    finishedAt: time('When it ended.'),
    containerID: text('Its id.'),
  }),
});

const containerStatus = struct(
  `${core}.ContainerStatus`,
  'What has become of a container.',
  ['name', 'ready', 'restartCount', 'image', 'imageID'],
  {
    name: text('The container.', { default: '' }),
    state: inline(containerState, 'How it fares.'),
    lastState: inline(containerState, 'How it fared before.'),
    ready: { ...bool('Whether it takes traffic.'), default: false },
    restartCount: { ...int32('How often it was restarted.'), default: 0 },
    image: text('The image that it runs.', { default: '' }),
    imageID: text('The exact image.', { default: '' }),
    containerID: text('Its id.'),
    started: bool('Whether it has started.'),
    stopSignal: text('The signal that ends it.'),
    allocatedResources: mapOf('What is set aside for it.', quantity('')),
    allocatedResourcesStatus: list(
      { type: 'object', preserveUnknownFields: true },
      'The state of its devices.',
    ),
    resources: field(resources, 'What it got.'),
    user: { type: 'object', preserveUnknownFields: true, description: 'The user that it runs as.' },
    volumeMounts: list({ type: 'object', preserveUnknownFields: true }, 'The volumes that it sees.'),
  },
);

const address = (name: string): Schema =>
  struct(`${core}.${name}`, 'An address.', ['ip'], { ip: text('The address.', { default: '' }) });

const podStatus = struct(`${core}.PodStatus`, 'What has become of the pod.', [], {
  observedGeneration: int64('The generation that this was found at.'),
  phase: text('Pending, Running, Succeeded, Failed or Unknown.'),
  conditions: conditions(
    conditionOf(`${core}.PodCondition`, {
      lastProbeTime: time('When it was last looked at.'),
      observedGeneration: int64('The generation that this was found at.'),
    }),
  ),
  message: text('Why, for people.'),
  reason: text('Why, as one word.'),
  nominatedNodeName: text('The node that is being cleared for it.'),
  hostIP: text('The address of its node.'),
  hostIPs: { ...list(address('HostIP'), 'The addresses of its node.'), mergeKey: 'ip' },
  podIP: text('Its address.'),
  podIPs: mapList(address('PodIP'), ['ip'], 'Its addresses.'),
  startTime: time('When its node took it over.'),
  initContainerStatuses: list(containerStatus, 'Of its init containers.'),
  containerStatuses: list(containerStatus, 'Of its containers.'),
  ephemeralContainerStatuses: list(containerStatus, 'Of containers added later.'),
  qosClass: text('BestEffort, Burstable or Guaranteed.'),
  resize: text('How a change of resources fares.'),
  resourceClaimStatuses: list({ type: 'object', preserveUnknownFields: true }, 'Of its claims.'),
  extendedResourceClaimStatus: { type: 'object', preserveUnknownFields: true, description: 'Of a claim.' },
  allocatedResources: mapOf('What is set aside for it.', quantity('')),
  resources: field(resources, 'What it got.'),
});

export const podSchema: Schema = kindSchema(`${core}.Pod`, 'Containers that run together on one node.', {
  spec: inline(podSpec, 'What it runs and where.'),
  status: inline(podStatus, 'What has become of it.'),
});
