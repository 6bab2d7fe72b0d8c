import { listAt } from '../json.ts';
import { serviceAccountSchema } from '../patch/merge-schema.ts';
import { ageColumn, integer } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

export const serviceAccounts: ResourceDefinition = defineResource({
  resource: 'serviceaccounts',
  singular: 'serviceaccount',
  kind: 'ServiceAccount',
  namespaced: true,
  shortNames: ['sa'],
  mergeSchema: serviceAccountSchema,
  columns: [integer('Secrets', (account) => listAt(account, 'secrets').length), ageColumn],
});
