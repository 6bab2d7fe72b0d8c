/**
 * Events for people who look at an object (k8s.io/api, events/v1): written in the background, one after the other, and never at the
 * cost of what they tell of. The same once more is a count on the event that is there, written at most once a minute.
 */

import { isApiStatus } from '../client/api-status-error.ts';
import type { KubeClient } from '../client/kube-client.ts';
import type { KubeObject } from '../client/kube-object.ts';
import { asItCame } from '../client/resource-type.ts';
import type { ResourceType } from '../client/resource-type.ts';
import { microTime } from '../lease/lease.ts';

export interface EventNote {
  readonly type: 'Normal' | 'Warning';
  /** Why, for machines: one word such as `SecretMissing`. */
  readonly reason: string;
  /** What was done or tried, one word such as `Reconcile`. */
  readonly action: string;
  /** For people; cut at 1,024 characters. */
  readonly note: string;
}

export interface EventRecorderOptions {
  /** Who reports, for instance `roundhouse.dev/operator`. */
  readonly controller: string;
  /** Which of its processes. */
  readonly instance: string;
  /** An event that could not be written; it is not tried again. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

interface Written {
  readonly name: string;
  readonly namespace: string;
  /** Of all times, those included that are not written yet. */
  count: number;
  writtenAt: number;
}

interface Recorded {
  readonly about: KubeObject;
  readonly note: EventNote;
  readonly at: number;
}

/** What waits to be written; one more is left out. */
const maxWaiting = 100;

/** Events that a repetition is counted on; the one that was repeated least recently is forgotten. */
const maxKnown = 500;

/** After that a repetition is an event of its own. */
const seriesMs = 600_000;
const betweenWritesMs = 60_000;
const maxNoteLength = 1_024;

/** What is under way when it is closed has so long to end. */
const writeTimeoutMs = 5_000;

const events: ResourceType = {
  group: 'events.k8s.io',
  version: 'v1',
  kind: 'Event',
  plural: 'events',
  namespaced: true,
  read: asItCame,
};

export class EventRecorder implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #options: EventRecorderOptions;
  readonly #waiting: Recorded[] = [];
  readonly #known = new Map<string, Written>();
  #dropped = 0;
  #closed = false;
  #writing: Promise<void> | undefined;

  constructor(client: KubeClient, options: EventRecorderOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Events that were left out since too many waited. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Never waits and never throws. */
  record(about: KubeObject, note: EventNote): void {
    if (this.#closed || this.#waiting.length >= maxWaiting) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push({ about, note, at: this.#client.clock.now() });
    this.#writing ??= this.#writeAll();
  }

  /** Takes nothing more, and resolves when the event that is being written is; what waits behind it is left out. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#dropped += this.#waiting.splice(0).length;
    await this.#writing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Never rejects. */
  async #writeAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      try {
        await this.#write(next);
      } catch (error) {
        this.#options.onError?.(error);
      }
    }
    this.#writing = undefined;
  }

  async #write(recorded: Recorded): Promise<void> {
    const key = keyOf(recorded);
    const known = this.#known.get(key);
    if (known === undefined || recorded.at - known.writtenAt > seriesMs) {
      await this.#create(key, recorded);
      return;
    }
    // The one that is repeated now is forgotten last.
    this.#known.delete(key);
    this.#known.set(key, known);
    known.count += 1;
    if (known.count > 2 && recorded.at - known.writtenAt < betweenWritesMs) {
      return;
    }
    const series = { count: known.count, lastObservedTime: microTime(recorded.at) };
    try {
      await this.#client.patch(
        events,
        known,
        { kind: 'merge', body: { series } },
        { timeoutMs: writeTimeoutMs },
      );
      known.writtenAt = recorded.at;
    } catch (error) {
      if (!isApiStatus(error, 404)) {
        throw error;
      }
      // Events end after an hour, or somebody has cleaned up.
      await this.#create(key, recorded);
    }
  }

  async #create(key: string, { about, note, at }: Recorded): Promise<void> {
    const { name, namespace, uid, resourceVersion } = about.metadata;
    const created = await this.#client.create(
      events,
      {
        // What belongs to the whole cluster is told of in `default` (k8s.io/client-go, tools/events).
        metadata: { generateName: `${name.slice(0, 200)}.`, namespace: namespace ?? 'default' },
        eventTime: microTime(at),
        reportingController: this.#options.controller,
        reportingInstance: this.#options.instance,
        regarding: { apiVersion: about.apiVersion, kind: about.kind, name, namespace, uid, resourceVersion },
        type: note.type,
        reason: note.reason,
        action: note.action,
        note: note.note.slice(0, maxNoteLength),
      },
      { timeoutMs: writeTimeoutMs },
    );
    this.#known.delete(key);
    this.#known.set(key, {
      name: created.metadata.name,
      namespace: created.metadata.namespace ?? 'default',
      count: 1,
      writtenAt: at,
    });
    const [eldest] = this.#known.keys();
    if (this.#known.size > maxKnown && eldest !== undefined) {
      this.#known.delete(eldest);
    }
  }
}

function keyOf({ about, note }: Recorded): string {
  const { namespace, name, uid } = about.metadata;
  return JSON.stringify([about.kind, namespace, name, uid, note.type, note.reason, note.action, note.note]);
}
