/** get and list, with chunks (`limit`, `continue`) that all show one revision. */
import { ApiError } from '../api-error.ts';
import type { JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { anyRevision, decodeContinue, encodeContinue } from '../store/continue-token.ts';
import type { ContinueToken } from '../store/continue-token.ts';
import type { Snapshot } from '../store/versioned-store.ts';
import { readListOptions } from './list-options.ts';
import type { ListOptions } from './list-options.ts';
import { formList, formObject } from './resource-exchange.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import { isSelective, selectionOf } from './selection.ts';

export async function serveGet(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, info, reply } = exchange;
  const object = cluster.objects.get(definition, info.namespace, info.name);
  await reply.json(200, formObject(exchange, object));
}

export async function serveList(exchange: ResourceExchange): Promise<void> {
  const { query, reply } = exchange;
  const selects = selectionOf(exchange);
  const options = readListOptions(query);
  const { limit, continueToken } = options;
  const start = continueToken === '' ? undefined : decodeContinue(continueToken);
  const snapshot = snapshotFor(exchange, options, start);
  const found: KubeObject[] = [];
  let last = '';
  let remaining = 0;
  for (const [key, object] of snapshot.entries) {
    if ((start !== undefined && key <= start.after) || !selects(object)) continue;
    if (found.length === limit) {
      remaining += 1;
      continue;
    }
    found.push(object);
    last = key;
  }
  const more =
    remaining === 0 ? {} : { continue: encodeContinue({ revision: snapshot.revision, after: last }) };
  const counted = remaining === 0 || isSelective(query) ? {} : { remainingItemCount: remaining };
  await reply.json(
    200,
    formList(exchange, found, { resourceVersion: String(snapshot.revision), ...more, ...counted }),
  );
}

/** The revision that a chunk goes on with, an exact one if asked for, or now. Throws Expired and Timeout as the real server does. */
function snapshotFor(
  { cluster, definition }: ResourceExchange,
  { resourceVersion: wanted, match }: ListOptions,
  start: ContinueToken | undefined,
): Snapshot {
  const collection = cluster.objects.collection(definition);
  if (start !== undefined && wanted !== undefined && wanted !== 0)
    throw ApiError.badRequest('specifying resource version is not allowed when using continue');
  if (wanted !== undefined && wanted > collection.revision)
    throw tooLargeRevision(wanted, collection.revision);
  const given = start?.revision ?? (match === 'Exact' ? wanted : undefined);
  const snapshot = collection.snapshot(given === anyRevision ? undefined : given);
  if (snapshot !== undefined) return snapshot;
  if (start === undefined) throw ApiError.expired(`The resourceVersion for the provided list is too old.`);
  throw new ExpiredChunk(start.after);
}

/** Who is content with a list that is not of one moment may go on with the token that comes with it. */
class ExpiredChunk extends ApiError {
  readonly #after: string;

  constructor(after: string) {
    super(410, 'Expired', continueExpired);
    this.#after = after;
  }

  override toStatus(): JsonObject {
    const token = encodeContinue({ revision: anyRevision, after: this.#after });
    return { ...super.toStatus(), metadata: { continue: token } };
  }
}

function tooLargeRevision(wanted: number, current: number): ApiError {
  return new ApiError(504, 'Timeout', `Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

const continueExpired =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted ' +
  'between the time the first chunk was returned and now may show up in the list.';
