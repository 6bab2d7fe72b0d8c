// The configuration as it holds, for people: values with their sources, secrets masked.

import { Document, isCollection, isNode } from 'yaml';
import type { SchemaOption } from '../schema-options.ts';
import type { Layers } from './layers.ts';

export interface ViewOptions {
  readonly output: 'yaml' | 'json';
  readonly showSources: boolean;
}

/** `values`: what the program has parsed, with its defaults. */
export function renderConfiguration(
  values: unknown,
  options: readonly SchemaOption[],
  layers: Layers,
  { output, showSources }: ViewOptions,
): string {
  const document = new Document(masked(values));
  if (showSources) {
    for (const option of options) {
      const node = document.getIn(option.path, true);
      if (!isNode(node)) continue;
      if (output === 'json') {
        document.setIn(option.path, document.createNode({ value: node, source: layers.source(option) }));
        continue;
      }
      if (isCollection(node)) node.flow = true;
      node.comment = ` ${layers.source(option)}`;
    }
  }
  return output === 'json'
    ? `${JSON.stringify(document.toJS(), null, 2)}\n`
    : document.toString({ lineWidth: 0 });
}

/** Options name files and not secrets; what a URL may carry is the exception. */
function masked(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1***@');
  if (Array.isArray(value)) return value.map(masked);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, masked(inner)]));
}
