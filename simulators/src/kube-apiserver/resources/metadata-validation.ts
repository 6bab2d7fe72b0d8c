/** Rules on the metadata that every kind has (k8s.io/apimachinery/pkg/api/validation); each gives causes for a 422. */
import type { StatusCause } from '../api-error.ts';
import type { KubeObject, ObjectMeta, OwnerReference } from '../kube-object.ts';
import { foregroundFinalizer, orphanFinalizer } from '../store/deletion.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import {
  forbiddenField,
  invalidField,
  validateLabels,
  validateName,
  validatePathName,
} from './validation.ts';

const namePart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

/** Names of finalizers that belong to nobody else. */
const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer]);

/** `previous` on update. */
export function validateMetadata(
  { metadata }: KubeObject,
  previous: KubeObject | undefined,
  { custom, pathNames }: Pick<ResourceDefinition, 'custom' | 'pathNames'>,
): readonly StatusCause[] {
  const validate = pathNames ? validatePathName : validateName;
  return [
    ...(previous === undefined ? validate(metadata.name ?? '') : []),
    ...validateLabels(metadata.labels ?? {}),
    ...validateOwners(metadata.ownerReferences ?? []),
    ...validateFinalizers(metadata.finalizers ?? [], custom),
    ...(previous?.metadata.deletionTimestamp === undefined
      ? []
      : validateNoNewFinalizers(metadata, previous.metadata)),
  ];
}

function validateOwners(owners: readonly OwnerReference[]): readonly StatusCause[] {
  const causes = owners.flatMap((owner) =>
    (['apiVersion', 'kind', 'name', 'uid'] as const)
      .filter((field) => (owner[field] ?? '') === '')
      .map((field) =>
        invalidField(
          `metadata.ownerReferences.${field}`,
          '',
          `${field === 'apiVersion' ? 'version ' : ''}must not be empty`,
        ),
      ),
  );
  const controllers = owners.filter(({ controller }) => controller === true);
  const [first, second] = controllers.map(({ kind, name }) => `${kind}/${name}`);
  if (first === undefined || second === undefined) return causes;
  const why = `Only one reference can have Controller set to true. Found "true" in references for ${first} and ${second}`;
  return [...causes, invalidField('metadata.ownerReferences', owners, why)];
}

function validateFinalizers(finalizers: readonly string[], custom: boolean): readonly StatusCause[] {
  const field = 'metadata.finalizers';
  const causes = finalizers.flatMap((name, index) => {
    const problem = qualifiedNameProblem(name);
    if (problem !== undefined) return [invalidField(field, name, problem)];
    if (custom || name.includes('/') || standardFinalizers.has(name)) return [];
    const why = 'name is neither a standard finalizer name nor is it fully qualified';
    return [invalidField(`${field}[${index}]`, name, why)];
  });
  if (!finalizers.includes(orphanFinalizer) || !finalizers.includes(foregroundFinalizer)) return causes;
  const why = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`;
  return [...causes, invalidField(field, finalizers, why)];
}

/** What is on its way out takes no new promises. */
function validateNoNewFinalizers(next: ObjectMeta, previous: ObjectMeta): readonly StatusCause[] {
  const before = new Set(previous.finalizers);
  const added = (next.finalizers ?? []).filter((name) => !before.has(name)).toSorted();
  if (added.length === 0) return [];
  const names = added.map((name) => JSON.stringify(name)).join(', ');
  return [
    forbiddenField(
      'metadata.finalizers',
      `no new finalizers can be added if the object is being deleted, found new finalizers []string{${names}}`,
    ),
  ];
}

/** `name`, or `prefix/name`. */
export function qualifiedNameProblem(text: string): string | undefined {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2) return `a qualified name ${nameRule} with an optional DNS subdomain prefix and '/'`;
  if (name.length > 63) return 'name part must be no more than 63 characters';
  if (!namePart.test(name)) return `name part ${nameRule}`;
  const [prefix] = parts.length === 2 ? parts : [];
  if (prefix === undefined || validateName(prefix).length === 0) return undefined;
  return prefix === '' ? 'prefix part must be non-empty' : 'prefix part must be a DNS subdomain';
}

const nameRule =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character " +
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
