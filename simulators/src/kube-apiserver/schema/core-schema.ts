/** The small kinds of the core group, and leases. */
import { condition, conditionOf, conditions, kindSchema } from './meta-schema.ts';
import {
  bool,
  bytes,
  field,
  inline,
  int32,
  intOrString,
  list,
  mapList,
  mapOf,
  microTime,
  quantity,
  setList,
  struct,
  text,
  texts,
  time,
} from './schema.ts';
import type { Schema } from './schema.ts';
import { localReference, objectReference } from './volume-schema.ts';

const core = 'io.k8s.api.core.v1';

export const configMapSchema: Schema = kindSchema(`${core}.ConfigMap`, 'Settings as keys and values.', {
  data: mapOf('Values that are text.'),
  binaryData: mapOf('Values of any bytes.', bytes('')),
  immutable: bool('Whether the values are fixed for good.'),
});

export const secretSchema: Schema = kindSchema(`${core}.Secret`, 'Keys and values that are confidential.', {
  data: mapOf('The values, in base64.', bytes('')),
  stringData: mapOf('Values as text, for writing only.'),
  type: text('What the secret is for.'),
  immutable: bool('Whether the values are fixed for good.'),
});

export const namespaceSchema: Schema = kindSchema(`${core}.Namespace`, 'A room in which names are unique.', {
  spec: inline(
    struct(`${core}.NamespaceSpec`, 'What is wanted.', [], {
      finalizers: texts('The namespace stays until this list is empty.'),
    }),
    'What is wanted.',
  ),
  status: inline(
    struct(`${core}.NamespaceStatus`, 'What is there.', [], {
      phase: text('Active or Terminating.'),
      conditions: conditions(conditionOf(`${core}.NamespaceCondition`)),
    }),
    'What is there.',
  ),
});

export const serviceAccountSchema: Schema = kindSchema(`${core}.ServiceAccount`, 'An identity for pods.', {
  secrets: mapList(objectReference, ['name'], 'Secrets that its pods may use.'),
  imagePullSecrets: list(localReference, 'Secrets for pulling images.'),
  automountServiceAccountToken: bool('Whether pods get its token.'),
});

const servicePort = struct(`${core}.ServicePort`, 'A port of a service.', ['port'], {
  name: text('Its name, unique in the service.'),
  protocol: text('TCP, UDP or SCTP.', { default: 'TCP' }),
  appProtocol: text('What is spoken on it.'),
  port: { ...int32('The number.'), default: 0 },
  targetPort: intOrString('Number or name of the port of the pods.'),
  nodePort: int32('The port of every node that leads here.'),
});

export const serviceSchema: Schema = kindSchema(`${core}.Service`, 'One address for a set of pods.', {
  spec: inline(
    struct(`${core}.ServiceSpec`, 'What is wanted.', [], {
      ports: mapList(servicePort, ['port', 'protocol'], 'Its ports.'),
      selector: { ...mapOf('The labels of its pods.'), mapType: 'atomic' },
      clusterIP: text('Its address, or None.'),
      clusterIPs: texts('Its addresses.'),
      type: text('ClusterIP, NodePort, LoadBalancer or ExternalName.'),
      externalIPs: texts('Addresses outside that lead here.'),
      sessionAffinity: text('ClientIP or None.'),
      sessionAffinityConfig: struct(`${core}.SessionAffinityConfig`, 'Settings of the affinity.', [], {
        clientIP: struct(`${core}.ClientIPConfig`, 'By address.', [], {
          timeoutSeconds: int32('How long it lasts.'),
        }),
      }),
      loadBalancerIP: text('The address that is wished for.'),
      loadBalancerSourceRanges: texts('Who may connect.'),
      loadBalancerClass: text('The implementation.'),
      allocateLoadBalancerNodePorts: bool('Whether node ports are given out.'),
      externalName: text('The name that it stands for.'),
      externalTrafficPolicy: text('Cluster or Local, from outside.'),
      internalTrafficPolicy: text('Cluster or Local, from inside.'),
      healthCheckNodePort: int32('The port for checks of nodes.'),
      publishNotReadyAddresses: bool('Whether pods count that are not ready.'),
      ipFamilies: texts('IPv4, IPv6.'),
      ipFamilyPolicy: text('SingleStack, PreferDualStack or RequireDualStack.'),
      trafficDistribution: text('Which endpoints are preferred.'),
    }),
    'What is wanted.',
  ),
  status: inline(
    struct(`${core}.ServiceStatus`, 'What is there.', [], {
      loadBalancer: inline(
        struct(`${core}.LoadBalancerStatus`, 'Of the load balancer.', [], {
          ingress: list(
            struct(`${core}.LoadBalancerIngress`, 'Where it can be reached.', [], {
              ip: text('By address.'),
              hostname: text('By name.'),
              ipMode: text('How the address is routed.'),
              ports: list({ type: 'object', preserveUnknownFields: true }, 'State by port.'),
            }),
            'Where it can be reached.',
          ),
        }),
        'Of the load balancer.',
      ),
      conditions: conditions(condition),
    }),
    'What is there.',
  ),
});

const taint = struct(`${core}.Taint`, 'Keeps pods away that do not tolerate it.', ['key', 'effect'], {
  key: text('The taint.', { default: '' }),
  value: text('Its value.'),
  effect: text('NoSchedule, PreferNoSchedule or NoExecute.', { default: '' }),
  timeAdded: time('Since when.'),
});

const open = (description: string): Schema => ({ type: 'object', preserveUnknownFields: true, description });

export const nodeSchema: Schema = kindSchema(`${core}.Node`, 'A machine that runs pods.', {
  spec: inline(
    struct(`${core}.NodeSpec`, 'What is wanted.', [], {
      podCIDR: text('The addresses of its pods.'),
      podCIDRs: setList({ type: 'string', default: '' }, 'The addresses of its pods.', ''),
      providerID: text('Its name at the provider.'),
      unschedulable: bool('Whether it takes no new pods.'),
      taints: list(taint, 'What keeps pods away.'),
      externalID: text('No longer used.'),
      configSource: open('No longer used.'),
    }),
    'What is wanted.',
  ),
  status: inline(
    struct(`${core}.NodeStatus`, 'What is there.', [], {
      capacity: mapOf('What it has.', quantity('')),
      allocatable: mapOf('What pods may use of it.', quantity('')),
      phase: text('No longer used.'),
      conditions: conditions(
        conditionOf(`${core}.NodeCondition`, { lastHeartbeatTime: time('When it was last heard of.') }),
      ),
      addresses: mapList(
        struct(`${core}.NodeAddress`, 'An address.', ['type', 'address'], {
          type: text('InternalIP, ExternalIP, Hostname…', { default: '' }),
          address: text('The address.', { default: '' }),
        }),
        ['type'],
        'How it can be reached.',
      ),
      daemonEndpoints: open('Ports of its daemons.'),
      nodeInfo: open('Versions of its software.'),
      images: list(open(''), 'Images that it has.'),
      volumesInUse: texts('Volumes in use.'),
      volumesAttached: list(open(''), 'Volumes attached.'),
      config: open('No longer used.'),
      runtimeHandlers: list(open(''), 'Its runtimes.'),
      features: open('What its runtime can do.'),
      declaredFeatures: texts('What it says that it can do.'),
    }),
    'What is there.',
  ),
});

export const leaseSchema: Schema = kindSchema(
  'io.k8s.api.coordination.v1.Lease',
  'Says who holds something, and for how long.',
  {
    spec: inline(
      struct('io.k8s.api.coordination.v1.LeaseSpec', 'Who holds it.', [], {
        holderIdentity: text('The holder.'),
        leaseDurationSeconds: int32('How long it is held without renewal.'),
        acquireTime: microTime('Since when.'),
        renewTime: microTime('When it was last renewed.'),
        leaseTransitions: int32('How often the holder changed.'),
        strategy: text('How a holder is chosen.'),
        preferredHolder: text('Who should hold it.'),
      }),
      'Who holds it.',
    ),
  },
);

const endpoint = struct(
  'io.k8s.api.discovery.v1.Endpoint',
  'Where a service can be reached.',
  ['addresses'],
  {
    addresses: setList({ type: 'string', default: '' }, 'Its addresses.'),
    conditions: inline(
      struct('io.k8s.api.discovery.v1.EndpointConditions', 'How it fares.', [], {
        ready: bool('Whether it takes traffic.'),
        serving: bool('The same, whether or not it is on its way out.'),
        terminating: bool('Whether it is on its way out.'),
      }),
      'How it fares.',
    ),
    hostname: text('Its host name.'),
    targetRef: field(objectReference, 'What it is.'),
    deprecatedTopology: mapOf('No longer used.'),
    nodeName: text('Its node.'),
    zone: text('Its zone.'),
    hints: open('Who should use it.'),
  },
);

export const endpointSliceSchema: Schema = kindSchema(
  'io.k8s.api.discovery.v1.EndpointSlice',
  'Some of the endpoints of a service.',
  {
    addressType: text('IPv4, IPv6 or FQDN.', { default: '' }),
    endpoints: list(endpoint, 'The endpoints.'),
    ports: list(
      struct('io.k8s.api.discovery.v1.EndpointPort', 'A port of all of them.', [], {
        name: text('Its name.'),
        protocol: text('TCP, UDP or SCTP.'),
        port: int32('The number.'),
        appProtocol: text('What is spoken on it.'),
      }),
      'Their ports.',
    ),
  },
  ['addressType', 'endpoints'],
);
