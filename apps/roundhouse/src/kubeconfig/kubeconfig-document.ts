// Kubeconfig text: made new, or merged into what is there with everything else in it left as it was, comments included.

import { isMap, isSeq, parseDocument, stringify, type Document, type YAMLSeq } from 'yaml';
import { CommandError } from '../command-error.ts';
import type { KubeconfigEntries } from './gateway-entries.ts';

const sections = ['clusters', 'users', 'contexts'] as const;

export function newKubeconfig(entries: KubeconfigEntries, currentContext: string | undefined): string {
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    ...entries,
    ...(currentContext === undefined ? {} : { 'current-context': currentContext }),
  });
}

/** Entries of equal name are replaced; the current context stays unless `currentContext` names another. */
export function mergeKubeconfig(
  text: string,
  entries: KubeconfigEntries,
  currentContext: string | undefined,
  file: string,
): string {
  const document = parseDocument(text);
  const [broken] = document.errors;
  if (broken !== undefined) throw new CommandError('configuration', `${file} is not YAML: ${broken.message}`);
  if (!isMap(document.contents) || document.get('kind') !== 'Config') {
    throw new CommandError('configuration', `${file} is not a kubeconfig; nothing was written`);
  }
  for (const section of sections) {
    const list = sectionOf(document, section, file);
    for (const entry of entries[section]) {
      const index = list.items.findIndex((item) => isMap(item) && item.get('name') === entry.name);
      const node = document.createNode(entry);
      if (index === -1) list.add(node);
      else list.items[index] = node;
    }
  }
  if (currentContext !== undefined) document.set('current-context', currentContext);
  return document.toString();
}

function sectionOf(document: Document, section: string, file: string): YAMLSeq {
  const present = document.get(section);
  if (isSeq(present)) return present;
  if (present !== undefined && present !== null) {
    throw new CommandError('configuration', `${file}: "${section}" is not a list; nothing was written`);
  }
  const made: unknown = document.createNode([]);
  if (!isSeq(made)) throw new Error('an empty list became something else');
  made.flow = false;
  document.set(section, made);
  return made;
}
