/** Writes the events that `kubectl describe` shows. Keeps a bounded number of its own, where the real server has a time to live. */
import { randomBytes } from 'node:crypto';
import { timestamp } from '../clock.ts';
import type { ClusterState } from '../cluster-state.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { events } from '../resources/events.ts';
import { namespaces } from '../resources/namespaces.ts';

const eventsKept = 1000;

export interface EventText {
  readonly type?: 'Normal' | 'Warning';
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly host?: string;
  readonly fieldPath?: string;
}

export class EventRecorder {
  readonly #cluster: ClusterState;
  /** Oldest first. */
  readonly #written: { readonly namespace: string; readonly name: string }[] = [];

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  record(about: KubeObject, text: EventText): void {
    const { objects, clock } = this.#cluster;
    const namespace = namespaceOf(about) || 'default';
    // A namespace that is going takes no events.
    if (objects.find(namespaces, '', namespace)?.metadata.deletionTimestamp !== undefined) return;
    const now = timestamp(clock.now());
    const { type = 'Normal', reason, message, component, host, fieldPath } = text;
    const event = objects.create(events, {
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${nameOf(about)}.${randomBytes(8).toString('hex')}`, namespace },
      involvedObject: {
        kind: about.kind,
        namespace: about.metadata.namespace,
        name: nameOf(about),
        uid: about.metadata.uid,
        apiVersion: about.apiVersion,
        resourceVersion: about.metadata.resourceVersion,
        fieldPath,
      },
      type,
      reason,
      message,
      source: { component, host },
      reportingComponent: component,
      reportingInstance: host ?? '',
      firstTimestamp: now,
      lastTimestamp: now,
      eventTime: null,
      count: 1,
    });
    this.#written.push({ namespace, name: nameOf(event) });
    if (this.#written.length <= eventsKept) return;
    const oldest = this.#written.shift();
    if (oldest !== undefined) objects.purge(events, oldest.namespace, oldest.name);
  }
}
