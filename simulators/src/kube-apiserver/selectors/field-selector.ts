/** `fieldSelector=`: equality on the few fields that a resource offers (k8s.io/apimachinery/pkg/fields). */
import { ApiError } from '../api-error.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';

export type FieldReader = (object: KubeObject) => string;
export type FieldSelector = (object: KubeObject) => boolean;

const everyResource: Readonly<Record<string, FieldReader>> = {
  'metadata.name': nameOf,
  'metadata.namespace': namespaceOf,
};

/** Throws BadRequest for a field that the resource does not offer. */
export function parseFieldSelector(
  text: string,
  offered: Readonly<Record<string, FieldReader>> = {},
): FieldSelector {
  const terms = splitTerms(text).map((term) => {
    const match = /^([^=!]+)(==|!=|=)(.*)$/s.exec(term);
    const [, field = '', operator, value = ''] = match ?? [];
    if (match === null)
      throw ApiError.badRequest(`invalid field selector: '${term}'; can't understand '${term}'`);
    const key = field.trim();
    const read = Object.hasOwn(offered, key)
      ? offered[key]
      : Object.hasOwn(everyResource, key)
        ? everyResource[key]
        : undefined;
    if (read === undefined) throw ApiError.badRequest(`field label not supported: ${key}`);
    const wanted = unescape(value);
    return (object: KubeObject) => (read(object) === wanted) === (operator !== '!=');
  });
  return (object) => terms.every((matches) => matches(object));
}

/** Commas separate, unless escaped with a backslash. */
function splitTerms(text: string): readonly string[] {
  return text.split(/(?<!\\),/).filter((term) => term.trim() !== '');
}

function unescape(value: string): string {
  return value.replace(/\\([\\,=])/g, '$1');
}
