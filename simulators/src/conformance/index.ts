/**
 * What a kube-apiserver does, as cases that run against any: the simulated one, which is held to them, and a real one, which shows
 * that they are true. A case owns a namespace, leaves nothing behind, and says so when an apiserver alone is not enough for it.
 */
import { accessReviewCases } from './cases/access-reviews.ts';
import { applyCases } from './cases/apply.ts';
import { customResourceCases } from './cases/custom-resources.ts';
import { deletionCases } from './cases/deletion.ts';
import { dryRunCases } from './cases/dry-run.ts';
import { discoveryCases } from './cases/discovery.ts';
import { escalationCases } from './cases/escalation.ts';
import { eventCases } from './cases/events.ts';
import { fieldValidationCases } from './cases/field-validation.ts';
import { garbageCollectionCases } from './cases/garbage-collection.ts';
import { impersonationCases } from './cases/impersonation.ts';
import { leaseCases } from './cases/leases.ts';
import { listCases } from './cases/lists.ts';
import { openApiCases } from './cases/openapi.ts';
import { patchCases } from './cases/patches.ts';
import { roleCases } from './cases/roles.ts';
import { subresourceCases } from './cases/subresources.ts';
import { watchCases } from './cases/watches.ts';
import { writeCases } from './cases/writes.ts';
import type { ConformanceCase } from './target.ts';

export { canRun } from './target.ts';
export type { ConformanceCase, Target, User } from './target.ts';

/** Every case, in the order of the list. */
export const conformanceCases: readonly ConformanceCase[] = [
  ...writeCases,
  ...listCases,
  ...watchCases,
  ...patchCases,
  ...fieldValidationCases,
  ...dryRunCases,
  ...subresourceCases,
  ...applyCases,
  ...discoveryCases,
  ...openApiCases,
  ...customResourceCases,
  ...deletionCases,
  ...garbageCollectionCases,
  ...roleCases,
  ...escalationCases,
  ...impersonationCases,
  ...accessReviewCases,
  ...eventCases,
  ...leaseCases,
];
