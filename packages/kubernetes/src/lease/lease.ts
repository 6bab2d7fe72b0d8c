/** The Lease objects by which several processes agree on one (k8s.io/api, coordination/v1). */

import { isFields } from '../client/fields.ts';
import type { KubeObject } from '../client/kube-object.ts';
import type { ResourceType } from '../client/resource-type.ts';

export interface LeaseRecord {
  /** Empty: nobody. */
  readonly holderIdentity: string;
  readonly leaseDurationSeconds: number;
  /** RFC 3339 with microseconds; of the holder's clock, so it is compared with itself only. */
  readonly acquireTime: string;
  readonly renewTime: string;
  readonly leaseTransitions: number;
}

export interface LeaseObject extends KubeObject {
  readonly spec: LeaseRecord;
}

export const leases: ResourceType<LeaseObject> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
  read: (object) => ({ ...object, spec: readRecord(object['spec']) }),
};

/** What is missing is as if nobody held it. */
function readRecord(value: unknown): LeaseRecord {
  const fields = isFields(value) ? value : {};
  const text = (name: string): string => {
    const found = fields[name];
    return typeof found === 'string' ? found : '';
  };
  const count = (name: string): number => {
    const found = fields[name];
    return typeof found === 'number' ? found : 0;
  };
  return {
    holderIdentity: text('holderIdentity'),
    leaseDurationSeconds: count('leaseDurationSeconds'),
    acquireTime: text('acquireTime'),
    renewTime: text('renewTime'),
    leaseTransitions: count('leaseTransitions'),
  };
}

/** RFC 3339 with microseconds, as `metav1.MicroTime` is written. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace(/Z$/, '000Z');
}
