/** GET /api/v1/namespaces/<n>/pods/<p>/log: the lines of a container, and with `follow` those to come. */
import { ApiError } from '../api-error.ts';
import { timestamp } from '../clock.ts';
import { at, listAt, textAt } from '../json.ts';
import { nameOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import type { LogLine } from '../logs/log-book.ts';
import { nextChange } from '../logs/next-change.ts';
import { chooseContainer } from './choose-container.ts';
import type { ResourceExchange } from './resource-exchange.ts';

interface LogOptions {
  readonly follow: boolean;
  readonly timestamps: boolean;
  readonly tailLines: number;
  /** Milliseconds since the epoch. */
  readonly since: number;
  readonly limitBytes: number;
}

export async function servePodLog(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, info, query, reply } = exchange;
  const pod = cluster.objects.get(definition, info.namespace, info.name);
  const options = parseOptions(query, cluster.clock.now());
  const container = chooseContainer(pod, query.get('container') ?? '');
  if (query.get('previous') === 'true') {
    throw ApiError.badRequest(
      `previous terminated container "${container}" in pod "${nameOf(pod)}" not found`,
    );
  }
  refuseWaiting(pod, container);
  const book = cluster.logs.of(info.namespace, info.name, container);
  await reply.begin(200, { 'Content-Type': 'text/plain', 'Cache-Control': 'no-cache, private' });

  const present = book.from(0);
  const chosen = present.filter((line) => line.at >= options.since).slice(-options.tailLines);
  let next = (present.at(-1)?.sequence ?? -1) + 1;
  let room = options.limitBytes;
  const send = async (lines: readonly LogLine[]): Promise<boolean> => {
    for (const line of lines) {
      const text = Buffer.from(
        `${options.timestamps ? `${nanoTimestamp(line.at)} ` : ''}${line.text}\n`,
      ).subarray(0, room);
      room -= text.length;
      await reply.write(text);
      if (room <= 0 || reply.closed.aborted) return false;
    }
    return true;
  };

  let open = await send(options.tailLines === 0 ? [] : chosen);
  while (open && options.follow && !reply.closed.aborted) {
    const lines = book.from(next);
    next = (lines.at(-1)?.sequence ?? next - 1) + 1;
    open = await send(lines);
    if (book.closed && book.from(next).length === 0) break;
    if (open && book.from(next).length === 0) await nextChange(book, reply.closed);
  }
  await reply.end();
}

function refuseWaiting(pod: KubeObject, container: string): void {
  const status = listAt(pod, 'status', 'containerStatuses').find(
    (found) => textAt(found, 'name') === container,
  );
  const waiting = at(status, 'state', 'waiting');
  if (waiting === undefined && (status !== undefined || textAt(pod, 'status', 'phase') !== 'Pending')) return;
  const reason = textAt(waiting, 'reason') || 'ContainerCreating';
  throw ApiError.badRequest(
    `container "${container}" in pod "${nameOf(pod)}" is waiting to start: ${reason}`,
  );
}

function parseOptions(query: URLSearchParams, now: number): LogOptions {
  const sinceSeconds = wholeNumber(query, 'sinceSeconds');
  const sinceTime = query.get('sinceTime');
  if (sinceSeconds !== undefined && sinceTime !== null)
    throw ApiError.badRequest('at most one of `sinceTime` or `sinceSeconds` may be specified');
  const since =
    sinceTime === null ? now - (sinceSeconds ?? Number.POSITIVE_INFINITY) * 1000 : Date.parse(sinceTime);
  if (Number.isNaN(since)) throw ApiError.badRequest(`sinceTime: Invalid value: "${sinceTime ?? ''}"`);
  return {
    follow: query.get('follow') === 'true' || query.get('follow') === '1',
    timestamps: query.get('timestamps') === 'true' || query.get('timestamps') === '1',
    tailLines: wholeNumber(query, 'tailLines') ?? Number.MAX_SAFE_INTEGER,
    since,
    limitBytes: wholeNumber(query, 'limitBytes') ?? Number.POSITIVE_INFINITY,
  };
}

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw ApiError.badRequest(`${name}: Invalid value: "${text}": must be greater than or equal to 0`);
  return Number(text);
}

/** Container runtimes stamp with nanoseconds; ours end in zeros. */
function nanoTimestamp(ms: number): string {
  return timestamp(ms).replace('Z', `.${String(ms % 1000).padStart(3, '0')}000000Z`);
}
