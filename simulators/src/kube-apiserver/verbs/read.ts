/** get and list, with chunks (`limit`, `continue`) that all show one revision. */
import { ApiError } from '../api-error.ts';
import type { KubeObject } from '../kube-object.ts';
import { decodeContinue, encodeContinue } from '../store/continue-token.ts';
import type { Snapshot } from '../store/versioned-store.ts';
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
  const limit = parseLimit(query.get('limit'));
  const token = query.get('continue') ?? '';
  const start = token === '' ? undefined : decodeContinue(token);
  const snapshot = snapshotFor(exchange, start?.revision);
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
  { cluster, definition, query }: ResourceExchange,
  continued: number | undefined,
): Snapshot {
  const collection = cluster.objects.collection(definition);
  const wanted = parseResourceVersion(query.get('resourceVersion'));
  const exact = query.get('resourceVersionMatch') === 'Exact';
  if (continued !== undefined && wanted !== undefined && wanted !== 0) {
    throw ApiError.badRequest('specifying resource version is not allowed when using continue');
  }
  if (wanted !== undefined && wanted > collection.revision)
    throw tooLargeRevision(wanted, collection.revision);
  const revision = continued ?? (exact ? wanted : undefined);
  const snapshot = collection.snapshot(revision);
  if (snapshot !== undefined) return snapshot;
  throw ApiError.expired(
    continued === undefined ? `The resourceVersion for the provided list is too old.` : continueExpired,
  );
}

/** Undefined when not given. Throws BadRequest for anything that is no number. */
export function parseResourceVersion(text: string | null): number | undefined {
  if (text === null || text === '') return undefined;
  if (!/^\d{1,16}$/.test(text))
    throw ApiError.badRequest(
      `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    );
  return Number(text);
}

function parseLimit(text: string | null): number {
  if (text === null || text === '' || text === '0') return Number.POSITIVE_INFINITY;
  if (!/^\d{1,9}$/.test(text)) throw ApiError.badRequest(`limit: Invalid value: "${text}"`);
  return Number(text);
}

function tooLargeRevision(wanted: number, current: number): ApiError {
  return new ApiError(504, 'Timeout', `Too large resource version: ${wanted}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });
}

const continueExpired =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.';
