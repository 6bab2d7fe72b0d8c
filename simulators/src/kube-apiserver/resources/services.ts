import { isJsonObject, listAt, numberAt, objectAt, textAt } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { serviceSchema } from '../schema/core-schema.ts';
import { ageColumn, formatLabels, text, wide } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { AdmissionContext, ResourceDefinition } from './resource-definition.ts';
import { requiredField } from './validation.ts';

export const services: ResourceDefinition = defineResource({
  resource: 'services',
  singular: 'service',
  kind: 'Service',
  namespaced: true,
  shortNames: ['svc'],
  categories: ['all'],
  hasStatus: true,
  schema: serviceSchema,
  createdByUpdate: true,
  serverFields: ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy'].map((name) => ['spec', name]),
  columns: [
    text('Type', (service) => textAt(service, 'spec', 'type')),
    text('Cluster-IP', (service) => textAt(service, 'spec', 'clusterIP') || '<none>'),
    text('External-IP', externalIp),
    text('Port(s)', ports),
    ageColumn,
    wide(text('Selector', (service) => formatLabels(objectAt(service, 'spec', 'selector')))),
  ],
  selectableFields: {
    'spec.clusterIP': (service) => textAt(service, 'spec', 'clusterIP'),
    'spec.type': (service) => textAt(service, 'spec', 'type'),
  },
  default: (service, context) => ({
    ...service,
    spec: defaultSpec(objectAt(service, 'spec'), context),
    status: { loadBalancer: {}, ...objectAt(service, 'status') },
  }),
  validate: (service) => {
    const needsPorts =
      textAt(service, 'spec', 'type') !== 'ExternalName' && textAt(service, 'spec', 'clusterIP') !== 'None';
    return needsPorts && listAt(service, 'spec', 'ports').length === 0 ? [requiredField('spec.ports')] : [];
  },
  shownWhenDeleted: true,
});

function defaultSpec(spec: JsonObject, context: AdmissionContext): JsonObject {
  const type = textAt(spec, 'type') || 'ClusterIP';
  if (type === 'ExternalName') return { ...spec, type, sessionAffinity: spec['sessionAffinity'] ?? 'None' };
  const clusterIP =
    textAt(spec, 'clusterIP') || textAt(context.previous, 'spec', 'clusterIP') || context.allocateClusterIp();
  return {
    ...spec,
    type,
    clusterIP,
    clusterIPs: spec['clusterIPs'] ?? [clusterIP],
    internalTrafficPolicy: spec['internalTrafficPolicy'] ?? 'Cluster',
    ipFamilies: spec['ipFamilies'] ?? ['IPv4'],
    ipFamilyPolicy: spec['ipFamilyPolicy'] ?? 'SingleStack',
    sessionAffinity: spec['sessionAffinity'] ?? 'None',
    ports: listAt(spec, 'ports').map((port) =>
      isJsonObject(port)
        ? { ...port, protocol: port['protocol'] ?? 'TCP', targetPort: port['targetPort'] ?? port['port'] }
        : port,
    ),
  };
}

function externalIp(service: KubeObject): string {
  const given = listAt(service, 'spec', 'externalIPs').map(String);
  switch (textAt(service, 'spec', 'type')) {
    case 'LoadBalancer': {
      const ingress = listAt(service, 'status', 'loadBalancer', 'ingress').map(
        (entry) => textAt(entry, 'ip') || textAt(entry, 'hostname'),
      );
      return [...ingress, ...given].join(',') || '<pending>';
    }
    case 'ExternalName':
      return textAt(service, 'spec', 'externalName');
    default:
      return given.join(',') || '<none>';
  }
}

function ports(service: KubeObject): string {
  const texts = listAt(service, 'spec', 'ports').map((port) => {
    const nodePort = numberAt(port, 'nodePort');
    return `${numberAt(port, 'port') ?? ''}${nodePort === undefined ? '' : `:${nodePort}`}/${textAt(port, 'protocol')}`;
  });
  return texts.join(',') || '<none>';
}
