/** Conditions of a status: the time of the last transition moves only when the status does. */
import { at, listAt, textAt } from '../json.ts';
import type { JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
}

export function condition(object: KubeObject, wanted: Condition, now: string): JsonObject {
  const present = listAt(object, 'status', 'conditions').find(
    (found) => textAt(found, 'type') === wanted.type,
  );
  const same = present !== undefined && textAt(present, 'status') === wanted.status;
  const since = same ? textAt(present, 'lastTransitionTime') || now : now;
  return { ...wanted, lastTransitionTime: since };
}

export function hasCondition(object: KubeObject, type: string): boolean {
  return listAt(object, 'status', 'conditions').some(
    (found) => textAt(found, 'type') === type && at(found, 'status') === 'True',
  );
}
