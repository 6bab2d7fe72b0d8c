/** The Secrets of a cluster as objects: their data as it came, in base64, until somebody asks for bytes. */

import { textsIn } from '../client/kube-object.ts';
import type { KubeObject } from '../client/kube-object.ts';
import type { ResourceType } from '../client/resource-type.ts';

export interface Secret extends KubeObject {
  /** For instance `kubernetes.io/tls`. */
  readonly type: string;
  /** In base64, by key. */
  readonly data: Readonly<Record<string, string>>;
}

export const secrets: ResourceType<Secret> = {
  group: '',
  version: 'v1',
  kind: 'Secret',
  plural: 'secrets',
  namespaced: true,
  read: (object) => ({
    ...object,
    type: typeof object['type'] === 'string' ? object['type'] : 'Opaque',
    data: textsIn(object, 'data') ?? {},
  }),
};

/** Undefined where there is no such key, and for one without content. */
export function secretBytes({ data }: Secret, key: string): Buffer | undefined {
  const text = Object.hasOwn(data, key) ? data[key] : undefined;
  return text === undefined || text === '' ? undefined : Buffer.from(text, 'base64');
}
