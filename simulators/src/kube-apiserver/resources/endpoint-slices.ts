import { listAt, numberAt, textAt } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { endpointSliceSchema } from '../schema/core-schema.ts';
import { ageColumn, text } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

export const endpointSlices: ResourceDefinition = defineResource({
  group: 'discovery.k8s.io',
  resource: 'endpointslices',
  singular: 'endpointslice',
  kind: 'EndpointSlice',
  namespaced: true,
  schema: endpointSliceSchema,
  columns: [
    text('AddressType', (slice) => textAt(slice, 'addressType')),
    text('Ports', (slice) =>
      firstFew(
        listAt(slice, 'ports').map((port) => String(numberAt(port, 'port') ?? '*')),
        '<unset>',
      ),
    ),
    text('Endpoints', (slice) => firstFew(addresses(slice), '<unset>')),
    ageColumn,
  ],
});

function addresses(slice: KubeObject): readonly string[] {
  return listAt(slice, 'endpoints').flatMap((endpoint) => listAt(endpoint, 'addresses').map(String));
}

/** The printer shows three and counts the rest. */
function firstFew(values: readonly string[], none: string): string {
  if (values.length === 0) return none;
  return values.length <= 3
    ? values.join(',')
    : `${values.slice(0, 3).join(',')} + ${values.length - 3} more...`;
}
