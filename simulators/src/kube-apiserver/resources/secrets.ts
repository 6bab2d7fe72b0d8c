import { isJsonObject, objectAt, textAt } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { secretSchema } from '../schema/core-schema.ts';
import { ageColumn, integer, text } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { immutableField } from './validation.ts';

export const secrets: ResourceDefinition = defineResource({
  resource: 'secrets',
  singular: 'secret',
  kind: 'Secret',
  namespaced: true,
  schema: secretSchema,
  columns: [
    text(
      'Type',
      (secret) => textAt(secret, 'type'),
      'Used to facilitate programmatic handling of secret data.',
    ),
    integer('Data', (secret) => Object.keys(objectAt(secret, 'data')).length),
    ageColumn,
  ],
  selectableFields: { type: (secret) => textAt(secret, 'type') },
  default: encodeStringData,
  validate: (secret, previous) =>
    previous === undefined ? [] : immutableField('type', secret['type'], previous['type']),
});

/** `stringData` is for writing only: it ends up in `data`, in base64. */
function encodeStringData(secret: KubeObject): KubeObject {
  const { stringData, ...rest } = secret;
  const encoded = isJsonObject(stringData)
    ? Object.fromEntries(
        Object.entries(stringData).map(([key, value]) => [
          key,
          Buffer.from(String(value)).toString('base64'),
        ]),
      )
    : undefined;
  return {
    ...rest,
    ...(encoded === undefined ? {} : { data: { ...objectAt(secret, 'data'), ...encoded } }),
    type: textAt(secret, 'type') || 'Opaque',
    apiVersion: secret.apiVersion,
    kind: secret.kind,
    metadata: secret.metadata,
  };
}
