/** The numbers of a scale where a custom resource has them: whatever its schema says, they are small integers (k8s.io/apiextensions-apiserver). */
import type { StatusCause } from '../api-error.ts';
import { at } from '../json.ts';
import type { Json } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';

const maxInt32 = 2 ** 31 - 1;

export function validateReplicas(
  object: KubeObject,
  path: readonly string[] | undefined,
): readonly StatusCause[] {
  const value = path === undefined ? undefined : at(object, ...path);
  if (path === undefined || value === undefined) return [];
  const field = `.${path.join('.')}`;
  const cause = (shown: number, why: string): readonly StatusCause[] => [
    { reason: 'FieldValueInvalid', message: `Invalid value: ${shown}: ${why}`, field },
  ];
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    return cause(
      0,
      `${field} accessor error: ${String(value)} is of the type ${goType(value)}, expected int64`,
    );
  if (value < 0) return cause(value, 'should be a non-negative integer');
  return value > maxInt32 ? cause(value, `should be less than or equal to ${maxInt32}`) : [];
}

function goType(value: Json): string {
  switch (typeof value) {
    case 'string':
      return 'string';
    case 'boolean':
      return 'bool';
    case 'number':
      return 'float64';
    default:
      if (value === null) return '<nil>';
      return Array.isArray(value) ? '[]interface {}' : 'map[string]interface {}';
  }
}
