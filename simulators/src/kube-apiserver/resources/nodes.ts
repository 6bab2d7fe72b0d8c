import { at, listAt, objectAt, textAt } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { labelsOf } from '../kube-object.ts';
import { nodeSchema } from '../schema/core-schema.ts';
import { ageColumn, text, wide } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

const rolePrefix = 'node-role.kubernetes.io/';

export const nodes: ResourceDefinition = defineResource({
  resource: 'nodes',
  singular: 'node',
  kind: 'Node',
  namespaced: false,
  shortNames: ['no'],
  hasStatus: true,
  schema: nodeSchema,
  columns: [
    text('Status', status),
    text('Roles', roles),
    ageColumn,
    text('Version', (node) => textAt(node, 'status', 'nodeInfo', 'kubeletVersion')),
    wide(text('Internal-IP', (node) => address(node, 'InternalIP'))),
    wide(text('External-IP', (node) => address(node, 'ExternalIP'))),
    wide(text('OS-Image', (node) => textAt(node, 'status', 'nodeInfo', 'osImage') || '<unknown>')),
    wide(
      text('Kernel-Version', (node) => textAt(node, 'status', 'nodeInfo', 'kernelVersion') || '<unknown>'),
    ),
    wide(
      text(
        'Container-Runtime',
        (node) => textAt(node, 'status', 'nodeInfo', 'containerRuntimeVersion') || '<unknown>',
      ),
    ),
  ],
  selectableFields: { 'spec.unschedulable': (node) => String(at(node, 'spec', 'unschedulable') === true) },
  default: (node) => ({ ...node, spec: objectAt(node, 'spec'), status: objectAt(node, 'status') }),
});

function status(node: KubeObject): string {
  const ready = listAt(node, 'status', 'conditions').find(
    (condition) => textAt(condition, 'type') === 'Ready',
  );
  const word = ready === undefined ? 'Unknown' : textAt(ready, 'status') === 'True' ? 'Ready' : 'NotReady';
  return at(node, 'spec', 'unschedulable') === true ? `${word},SchedulingDisabled` : word;
}

function roles(node: KubeObject): string {
  const found = Object.keys(labelsOf(node)).filter((label) => label.startsWith(rolePrefix));
  return (
    found
      .map((label) => label.slice(rolePrefix.length))
      .toSorted()
      .join(',') || '<none>'
  );
}

function address(node: KubeObject, type: string): string {
  const found = listAt(node, 'status', 'addresses').find((entry) => textAt(entry, 'type') === type);
  return textAt(found, 'address') || '<none>';
}
