import { listAt } from '../json.ts';
import { serviceAccountSchema } from '../schema/core-schema.ts';
import { ageColumn, integer } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

export const serviceAccounts: ResourceDefinition = defineResource({
  resource: 'serviceaccounts',
  singular: 'serviceaccount',
  kind: 'ServiceAccount',
  namespaced: true,
  shortNames: ['sa'],
  schema: serviceAccountSchema,
  columns: [integer('Secrets', (account) => listAt(account, 'secrets').length), ageColumn],
  shownWhenDeleted: true,
});
