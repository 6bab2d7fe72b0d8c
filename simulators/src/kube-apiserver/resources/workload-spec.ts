/** What deployments and replica sets share: a selector and a pod template. */
import type { StatusCause } from '../api-error.ts';
import { at, objectAt } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { KubeObject, StringMap } from '../kube-object.ts';
import { formatLabelSelector, labelSelectorOf } from '../selectors/label-selector.ts';
import { defaultTemplateSpec } from './pod-spec.ts';
import type { ScalePaths } from './resource-definition.ts';
import { immutableField, validatePodSpec, validateSelector } from './validation.ts';

export const workloadScale: ScalePaths = {
  specReplicas: ['spec', 'replicas'],
  statusReplicas: ['status', 'replicas'],
  selector: (object) => formatLabelSelector(at(object, 'spec', 'selector')),
};

export function defaultTemplate(template: JsonObject): JsonObject {
  return {
    ...template,
    metadata: objectAt(template, 'metadata'),
    spec: defaultTemplateSpec(objectAt(template, 'spec')),
  };
}

export function validateWorkload(
  object: KubeObject,
  previous: KubeObject | undefined,
): readonly StatusCause[] {
  const selects = labelSelectorOf(at(object, 'spec', 'selector'))(
    stringMap(objectAt(object, 'spec', 'template', 'metadata', 'labels')),
  );
  return [
    ...validateSelector(object['spec'], selects),
    ...validatePodSpec(at(object, 'spec', 'template', 'spec'), 'spec.template.spec'),
    ...(previous === undefined
      ? []
      : immutableField('spec.selector', at(object, 'spec', 'selector'), at(previous, 'spec', 'selector'))),
  ];
}

export function stringMap(value: JsonObject): StringMap {
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, String(child)]));
}
