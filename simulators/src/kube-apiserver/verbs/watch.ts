/**
 * watch: the changes of one collection as a stream of JSON lines. A watch is a cursor into the history and nothing else, so a
 * client that does not read costs no memory beyond its socket; when the history has moved on without it, it is told 410 and ended.
 */
import { ApiError } from '../api-error.ts';
import type { Timer } from '../clock.ts';
import type { JsonObject } from '../json.ts';
import { withMeta } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { apiVersionOf } from '../resources/resource-definition.ts';
import type { Change } from '../store/history.ts';
import type { Collection } from '../store/versioned-store.ts';
import { readWatchOptions } from './list-options.ts';
import { formObject } from './resource-exchange.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import { selectionOf } from './selection.ts';
import type { Selection } from './selection.ts';

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** The real server chooses between 30 and 60 minutes when the client does not. */
const defaultTimeoutSeconds = 1800;

export async function serveWatch(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, query, reply } = exchange;
  const selects = selectionOf(exchange);
  const options = readWatchOptions(query);
  const { resourceVersion: since, bookmarks, sendInitialEvents } = options;
  const { timeoutSeconds = defaultTimeoutSeconds } = options;
  await reply.begin(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-cache, private' });
  const stream = new WatchStream(exchange, cluster.objects.collection(definition), selects);
  const startsFresh = since === undefined || since === 0 || sendInitialEvents;
  const started = startsFresh
    ? await stream.sendPresent(sendInitialEvents && bookmarks)
    : await stream.startAfter(since);
  if (started)
    await stream.follow({
      timeoutMs: timeoutSeconds * 1000,
      bookmarks,
    });
  await reply.end();
}

class WatchStream {
  readonly #exchange: ResourceExchange;
  readonly #collection: Collection;
  readonly #selects: Selection;
  /** Everything up to this revision has been sent, or is not for this watch. */
  #cursor: number;
  #headersSent = false;

  constructor(exchange: ResourceExchange, collection: Collection, selects: Selection) {
    this.#exchange = exchange;
    this.#collection = collection;
    this.#selects = selects;
    this.#cursor = collection.revision;
  }

  /** The present state as ADDED events; with `marked`, a bookmark says where it ends (the WatchList protocol). */
  async sendPresent(marked: boolean): Promise<boolean> {
    const snapshot = this.#collection.snapshot();
    for (const [, object] of snapshot?.entries ?? []) {
      if (this.#selects(object)) await this.#send('ADDED', object);
    }
    if (marked) await this.#bookmark({ 'k8s.io/initial-events-end': 'true' });
    return true;
  }

  /** False when the history does not reach back that far; the client has been told. */
  async startAfter(revision: number): Promise<boolean> {
    this.#cursor = revision;
    const { compactedRevision } = this.#collection.history;
    if (revision >= compactedRevision) return true;
    await this.#sendExpired(revision, compactedRevision);
    return false;
  }

  /** Until the time is over, the client is gone, or it was too slow for the history. */
  async follow({
    timeoutMs,
    bookmarks,
  }: {
    readonly timeoutMs: number;
    readonly bookmarks: boolean;
  }): Promise<void> {
    const { cluster, reply } = this.#exchange;
    const alarm = new Alarm();
    using _changes = this.#collection.onChange(() => alarm.ring());
    let over = false;
    const end = (): void => {
      over = true;
      alarm.ring();
    };
    const deadline = cluster.clock.setTimeout(end, timeoutMs);
    let bookmarkDue = false;
    let nextBookmark: Timer | undefined;
    const armBookmark = (): void => {
      bookmarkDue = false;
      nextBookmark?.cancel();
      nextBookmark = cluster.clock.setTimeout(() => {
        bookmarkDue = true;
        alarm.ring();
      }, cluster.bookmarkIntervalMs);
    };
    if (bookmarks) armBookmark();
    reply.closed.addEventListener('abort', end, { once: true });
    try {
      while (!reply.closed.aborted) {
        if (!(await this.#catchUp())) return;
        if (bookmarkDue || (over && bookmarks)) {
          await this.#bookmark();
          armBookmark();
        }
        if (over) return;
        await alarm.wait();
      }
    } finally {
      deadline.cancel();
      nextBookmark?.cancel();
      reply.closed.removeEventListener('abort', end);
    }
  }

  async #catchUp(): Promise<boolean> {
    const { history } = this.#collection;
    for (;;) {
      if (this.#exchange.reply.closed.aborted) return false;
      const change = history.next(this.#cursor);
      if (change === 'expired') {
        await this.#sendExpired(this.#cursor, history.compactedRevision);
        return false;
      }
      if (change === undefined) break;
      this.#cursor = change.revision;
      const event = eventFor(change, this.#selects);
      if (event !== undefined) await this.#send(...event);
    }
    // A quiet watch must not expire because other resources moved the counter.
    this.#cursor = Math.max(this.#cursor, this.#collection.revision);
    return true;
  }

  async #bookmark(annotations?: Readonly<Record<string, string>>): Promise<void> {
    const { definition } = this.#exchange;
    const metadata = {
      resourceVersion: String(this.#cursor),
      creationTimestamp: null,
      ...(annotations === undefined ? {} : { annotations }),
    };
    await this.#send('BOOKMARK', { kind: definition.kind, apiVersion: apiVersionOf(definition), metadata });
  }

  async #send(type: EventType, object: KubeObject): Promise<void> {
    const { definition, form, reply } = this.#exchange;
    const text =
      form === 'object' && definition.stored === undefined
        ? this.#collection.textOf(object)
        : JSON.stringify(formObject(this.#exchange, object, !this.#headersSent));
    this.#headersSent = true;
    await reply.write(`{"type":"${type}","object":${text}}\n`);
  }

  async #sendExpired(wanted: number, oldest: number): Promise<void> {
    const status: JsonObject = ApiError.expired(`too old resource version: ${wanted} (${oldest})`).toStatus();
    await this.#exchange.reply.write(`${JSON.stringify({ type: 'ERROR', object: status })}\n`);
  }
}

/** What a change is for a watch that sees only some objects: it may come into view or leave it. */
function eventFor(change: Change, selects: Selection): [type: EventType, object: KubeObject] | undefined {
  const before = change.previous !== undefined && selects(change.previous);
  const after = !change.deleted && selects(change.object);
  if (after) return [before ? 'MODIFIED' : 'ADDED', change.object];
  if (!before || change.previous === undefined) return undefined;
  return [
    'DELETED',
    change.deleted ? change.object : withMeta(change.previous, { resourceVersion: String(change.revision) }),
  ];
}

/** Wakes one waiter; a ring while nobody waits is kept for the next wait. */
class Alarm {
  #rung = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  async wait(): Promise<void> {
    if (!this.#rung) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#rung = false;
    this.#wake = undefined;
  }
}
