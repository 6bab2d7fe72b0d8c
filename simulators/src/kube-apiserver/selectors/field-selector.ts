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
    const { key, operator, value: wanted } = parseTerm(term);
    const read = Object.hasOwn(offered, key)
      ? offered[key]
      : Object.hasOwn(everyResource, key)
        ? everyResource[key]
        : undefined;
    if (read === undefined) throw ApiError.badRequest(`field label not supported: ${key}`);
    return (object: KubeObject) => (read(object) === wanted) === (operator !== '!=');
  });
  return (object) => terms.every((matches) => matches(object));
}

/** The name that every selected object has to have; empty when there is none, or the text is no selector. */
export function selectedName(text: string): string {
  try {
    const names = splitTerms(text)
      .map(parseTerm)
      .filter(({ key, operator }) => key === 'metadata.name' && operator !== '!=');
    return names[0]?.value ?? '';
  } catch {
    // Whoever serves the request says what is wrong with it.
    return '';
  }
}

interface Term {
  readonly key: string;
  readonly operator: string;
  readonly value: string;
}

function parseTerm(term: string): Term {
  const [, field, operator, value] = /^([^=!]+)(==|!=|=)(.*)$/s.exec(term) ?? [];
  if (field === undefined || operator === undefined || value === undefined)
    throw ApiError.badRequest(`invalid field selector: '${term}'; can't understand '${term}'`);
  return { key: field.trim(), operator, value: unescape(value) };
}

/** Commas separate, unless escaped with a backslash. */
function splitTerms(text: string): readonly string[] {
  return text.split(/(?<!\\),/).filter((term) => term.trim() !== '');
}

function unescape(value: string): string {
  return value.replace(/\\([\\,=])/g, '$1');
}
