/**
 * Writes the events that `kubectl describe` shows, and counts those that come again. Keeps a bounded number of its own, where the
 * real server has a time to live.
 */
import { microTimestamp, timestamp } from '../clock.ts';
import type { ClusterState } from '../cluster-state.ts';
import { numberAt } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { eventsV1 } from '../resources/events-v1.ts';
import { events } from '../resources/events.ts';
import { namespaces } from '../resources/namespaces.ts';
import { apiVersionOf } from '../resources/resource-definition.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';

const eventsKept = 1000;

export interface EventText {
  readonly type?: 'Normal' | 'Warning';
  /** One word in CamelCase. */
  readonly reason: string;
  readonly message: string;
  readonly component: string;
  readonly host?: string;
  readonly fieldPath?: string;
  /** What was done, as one word. With it the event is one of events.k8s.io, of which some components are. */
  readonly action?: string;
}

interface Written {
  readonly namespace: string;
  readonly name: string;
}

export class EventRecorder {
  readonly #cluster: ClusterState;
  /** By what they say of which object; the one that came last is the last. */
  readonly #written = new Map<string, Written>();
  #lastSuffix = 0n;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  record(about: KubeObject, text: EventText): void {
    const { objects } = this.#cluster;
    const namespace = namespaceOf(about) || 'default';
    // A namespace that is going takes no events.
    if (objects.find(namespaces, '', namespace)?.metadata.deletionTimestamp !== undefined) return;
    const key = JSON.stringify([about.metadata.uid, text]);
    const known = this.#written.get(key);
    this.#written.delete(key);
    const definition = text.action === undefined ? events : eventsV1;
    const name = known?.name ?? `${nameOf(about)}.${this.#nextSuffix()}`;
    this.#written.set(key, { namespace, name });
    if (known !== undefined && objects.find(definition, namespace, name) !== undefined)
      this.#countAgain(definition, known);
    else
      objects.create(definition, {
        apiVersion: apiVersionOf(definition),
        kind: 'Event',
        metadata: { name, namespace },
        type: text.type ?? 'Normal',
        reason: text.reason,
        ...(text.action === undefined
          ? this.#plainEvent(about, text)
          : this.#reportedEvent(about, text, text.action)),
      });
    this.#forgetOldest();
  }

  #plainEvent(about: KubeObject, { message, component, host, fieldPath }: EventText): JsonObject {
    const now = timestamp(this.#cluster.clock.now());
    return {
      involvedObject: referenceTo(about, fieldPath),
      message,
      source: { component, host },
      reportingComponent: component,
      reportingInstance: host ?? '',
      firstTimestamp: now,
      lastTimestamp: now,
      count: 1,
    };
  }

  #reportedEvent(
    about: KubeObject,
    { message, component, host, fieldPath }: EventText,
    action: string,
  ): JsonObject {
    return {
      action,
      regarding: referenceTo(about, fieldPath),
      note: message,
      reportingController: component,
      reportingInstance: `${component}-${host ?? this.#cluster.name}`,
      eventTime: microTimestamp(this.#cluster.clock.now()),
    };
  }

  #countAgain(definition: ResourceDefinition, { namespace, name }: Written): void {
    const { objects, clock } = this.#cluster;
    objects.change(definition, namespace, name, (event) =>
      definition === events
        ? { ...event, count: (numberAt(event, 'count') ?? 1) + 1, lastTimestamp: timestamp(clock.now()) }
        : {
            ...event,
            series: {
              count: (numberAt(event, 'series', 'count') ?? 1) + 1,
              lastObservedTime: microTimestamp(clock.now()),
            },
          },
    );
  }

  /** Of nanoseconds, so that names are in the order in which things happened. */
  #nextSuffix(): string {
    const now = BigInt(Math.floor(this.#cluster.clock.now())) * 1_000_000n;
    this.#lastSuffix = now > this.#lastSuffix ? now : this.#lastSuffix + 1n;
    return this.#lastSuffix.toString(16);
  }

  #forgetOldest(): void {
    if (this.#written.size <= eventsKept) return;
    for (const [key, { namespace, name }] of this.#written) {
      this.#written.delete(key);
      this.#cluster.objects.purge(events, namespace, name);
      return;
    }
  }
}

function referenceTo({ kind, apiVersion, metadata }: KubeObject, fieldPath: string | undefined): JsonObject {
  const { namespace, name, uid, resourceVersion } = metadata;
  return { kind, namespace, name, uid, apiVersion, resourceVersion, fieldPath };
}
