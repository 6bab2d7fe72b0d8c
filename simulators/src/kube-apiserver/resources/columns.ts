/** The columns that many kinds have, and short ways to make others. Names and order are those of kubernetes/pkg/printers. */
import { listAt, objectAt, textAt } from '../json.ts';
import type { Json } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { nameOf } from '../kube-object.ts';
import { age } from '../printing/human-duration.ts';
import type { Column } from './resource-definition.ts';

type Value = (object: KubeObject, now: number) => string | number;

export const nameColumn: Column = {
  name: 'Name',
  type: 'string',
  format: 'name',
  priority: 0,
  description: 'Name must be unique within a namespace.',
  value: nameOf,
};

export const ageColumn: Column = text('Age', (object, now) =>
  age(object.metadata.creationTimestamp ?? '', now),
);

export function text(name: string, value: Value, description = name): Column {
  return { name, type: 'string', format: '', priority: 0, description, value };
}

export function integer(
  name: string,
  value: (object: KubeObject) => number | undefined,
  description = name,
): Column {
  return {
    name,
    type: 'integer',
    format: '',
    priority: 0,
    description,
    value: (object) => value(object) ?? 0,
  };
}

/** Shown by `-o wide` only. */
export function wide(column: Column): Column {
  return { ...column, priority: 1 };
}

export const podTemplateColumns: readonly Column[] = [
  wide(text('Containers', (object) => containerTexts(object, 'name'))),
  wide(text('Images', (object) => containerTexts(object, 'image'))),
  wide(text('Selector', (object) => formatSelector(objectAt(object, 'spec', 'selector')))),
];

/** `a=b,c=d`; `<none>` when empty. */
export function formatLabels(labels: Json | undefined): string {
  const pairs = Object.entries(objectAt(labels)).map(([key, value]) => `${key}=${String(value)}`);
  return pairs.length === 0 ? '<none>' : pairs.join(',');
}

function formatSelector(selector: Json): string {
  const expressions = listAt(selector, 'matchExpressions').map((expression) => {
    const values = listAt(expression, 'values').join(',');
    return `${textAt(expression, 'key')} ${textAt(expression, 'operator').toLowerCase()} (${values})`;
  });
  const labels = formatLabels(objectAt(selector, 'matchLabels'));
  const parts = labels === '<none>' ? expressions : [labels, ...expressions];
  return parts.length === 0 ? '<none>' : parts.join(',');
}

function containerTexts(object: KubeObject, field: 'name' | 'image'): string {
  return listAt(object, 'spec', 'template', 'spec', 'containers')
    .map((container) => textAt(container, field))
    .join(',');
}
