import { at, objectAt } from '../json.ts';
import { configMapSchema } from '../schema/core-schema.ts';
import { ageColumn, integer } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { forbiddenField } from './validation.ts';
import { equalJson } from '../json.ts';

export const configMaps: ResourceDefinition = defineResource({
  resource: 'configmaps',
  singular: 'configmap',
  kind: 'ConfigMap',
  namespaced: true,
  shortNames: ['cm'],
  schema: configMapSchema,
  columns: [
    integer(
      'Data',
      (map) => Object.keys(objectAt(map, 'data')).length + Object.keys(objectAt(map, 'binaryData')).length,
    ),
    ageColumn,
  ],
  validate: (map, previous) => {
    if (
      previous === undefined ||
      at(previous, 'immutable') !== true ||
      equalJson(map['data'], previous['data'])
    )
      return [];
    return [forbiddenField('data', 'field is immutable when `immutable` is set')];
  },
});
