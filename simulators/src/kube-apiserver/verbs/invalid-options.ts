/** The 422 for options of a request that do not fit: each verb has a kind of options, of the group of metadata. */
import { ApiError } from '../api-error.ts';
import type { StatusCause } from '../api-error.ts';

export type OptionsKind =
  | 'CreateOptions'
  | 'UpdateOptions'
  | 'PatchOptions'
  | 'DeleteOptions'
  | 'ListOptions';

/** Throws unless there is nothing to say. */
export function checkOptions(kind: OptionsKind, causes: readonly StatusCause[]): void {
  if (causes.length > 0) throw ApiError.invalid({ group: 'meta.k8s.io', resource: '', kind }, '', causes);
}
