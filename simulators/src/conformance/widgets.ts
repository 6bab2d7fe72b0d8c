/** A kind of their own for cases: widgets, which are served while a case runs. */
import assert from 'node:assert/strict';
import { at, listAt, textAt } from '../kube-apiserver/json.ts';
import { call } from './target.ts';
import type { Target } from './target.ts';
import { until } from './until.ts';

export const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

export interface Served {
  /** Of the objects in `default`, version v1. */
  readonly path: string;
  readonly group: string;
  readonly crd: string;
}

const schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      required: ['image'],
      properties: {
        image: { type: 'string', pattern: '^[a-z]+$' },
        replicas: { type: 'integer', minimum: 1, maximum: 10, default: 1 },
        mode: { type: 'string', enum: ['Fast', 'Slow'] },
        port: { 'x-kubernetes-int-or-string': true },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        parts: {
          type: 'array',
          items: {
            type: 'object',
            required: ['name'],
            properties: { name: { type: 'string' }, size: { type: 'integer', default: 3 } },
          },
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
        },
      },
    },
    status: { type: 'object', properties: { replicas: { type: 'integer' }, selector: { type: 'string' } } },
  },
};

export function crdOf(group: string, versions: readonly Record<string, unknown>[]) {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${group}` },
    spec: {
      group,
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget', shortNames: ['wd'], categories: ['things'] },
      versions,
    },
  };
}

/** With all that a version may have. */
export const v1 = {
  name: 'v1',
  served: true,
  storage: true,
  schema: { openAPIV3Schema: schema },
  subresources: {
    status: {},
    scale: {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.replicas',
      labelSelectorPath: '.status.selector',
    },
  },
  additionalPrinterColumns: [
    { name: 'Image', type: 'string', jsonPath: '.spec.image' },
    { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', priority: 1 },
    { name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' },
  ],
};

/** Serves widgets in a group of their own, until `run` is over. */
export async function withWidgets(
  target: Target,
  group: string,
  run: (served: Served) => Promise<void>,
  versions: readonly Record<string, unknown>[] = [v1],
): Promise<void> {
  const crd = `${definitions}/widgets.${group}`;
  const created = await call(target, 'POST', definitions, { body: crdOf(group, versions) });
  assert.equal(created.status, 201, textAt(created.body, 'message'));
  try {
    await until(async () => {
      const { body } = await call(target, 'GET', crd);
      return listAt(body, 'status', 'conditions').some(
        (condition) => at(condition, 'type') === 'Established' && at(condition, 'status') === 'True',
      );
    });
    const path = `/apis/${group}/v1/namespaces/default/widgets`;
    await until(async () => (await call(target, 'GET', path)).status === 200);
    await run({ path, group, crd });
  } finally {
    await call(target, 'DELETE', crd);
    await until(async () => (await call(target, 'GET', crd)).status === 404);
  }
}
