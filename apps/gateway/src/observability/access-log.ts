/** One line per request, when it is over. Queries are not logged: an exec has its command in there. */

import { LineLog } from '@roundhouse/process';
import type { Logger } from '@roundhouse/process';
import type { Exchange } from '../exchange.ts';
import { verbLabel } from './verb-label.ts';

export class AccessLog {
  readonly #lines: LineLog;

  constructor(log: Logger) {
    this.#lines = new LineLog(log, 'request');
  }

  ended(exchange: Exchange, code: number, durationMs: number): void {
    const { error } = exchange;
    if (code >= 500 || error?.code === 'ERR_RH_INTERNAL') {
      this.#lines.error(() => fieldsOf(exchange, code, durationMs) + causeOf(error));
    } else {
      this.#lines.info(() => fieldsOf(exchange, code, durationMs));
    }
  }
}

/** JSON, composed: with thousands of requests a second, this line is what a log costs. */
function fieldsOf(exchange: Exchange, code: number, durationMs: number): string {
  const { id, request, caller, subject, route, cluster, error, reply, bytesIn } = exchange;
  // Whom the caller acts as.
  const as = subject === undefined || subject === caller ? '' : `,"as":${quoted(subject.user)}`;
  const failure =
    error === undefined ? '' : `,"error":${quoted(error.code)},"reason":${quoted(error.message)}`;
  const durMs = Math.round(durationMs * 10) / 10;
  return `,"req":"${id}","cluster":${quoted(cluster?.name)},"user":${quoted(caller?.user)}${as},"verb":"${verbLabel(route)}","method":${quoted(request?.method)},"path":${quoted(route?.target.path)},"code":${code},"durMs":${durMs},"bytesIn":${bytesIn},"bytesOut":${reply.bytesOut},"streams":${cluster?.inFlight ?? 0}${failure}`;
}

function quoted(text = ''): string {
  return JSON.stringify(text);
}

/** A bug of ours is only found with its stack; what it says is not for clients. */
function causeOf(error: Exchange['error']): string {
  return error?.code === 'ERR_RH_INTERNAL' && error.cause instanceof Error
    ? `,"cause":${quoted(error.cause.stack ?? error.cause.message)}`
    : '';
}
