/** What the server says when an apply would take fields from other managers. */
import { ApiError } from '../api-error.ts';
import { pathTexts } from './field-set.ts';
import type { FieldSet } from './field-set.ts';

export interface Conflict {
  readonly manager: {
    readonly manager: string;
    readonly operation: 'Apply' | 'Update';
    readonly apiVersion: string;
    readonly subresource: string;
  };
  readonly fields: FieldSet;
}

export function applyConflict(conflicts: readonly Conflict[]): ApiError {
  const told = conflicts
    .map(({ manager, fields }) => ({ name: managerText(manager), paths: pathTexts(fields) }))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const causes = told.flatMap(({ name, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${name}`, field })),
  );
  const texts = told.map(
    ({ name, paths }) => `conflicts with ${name}:\n${paths.map((path) => `- ${path}`).join('\n')}`,
  );
  const message =
    causes.length === 1
      ? `Apply failed with 1 conflict: ${causes[0]?.message}: ${causes[0]?.field}`
      : `Apply failed with ${causes.length} conflicts: ${texts.join('\n')}`;
  return new ApiError(409, 'Conflict', message, { causes });
}

function managerText({ manager, operation, apiVersion, subresource }: Conflict['manager']): string {
  const name = `${JSON.stringify(manager)}${subresource === '' ? '' : ` with subresource ${JSON.stringify(subresource)}`}`;
  return operation === 'Update' ? `${name} using ${apiVersion}` : name;
}
