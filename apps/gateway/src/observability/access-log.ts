/** One line per request, when it is over. Queries are not logged: an exec has its command in there. */

import type { Logger } from '@roundhouse/process';
import type { Exchange } from '../exchange.ts';
import { verbLabel } from './verb-label.ts';

export class AccessLog {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  ended(exchange: Exchange, code: number, durationMs: number): void {
    const { request, caller, subject, route, cluster, error, reply } = exchange;
    const line = {
      req: exchange.id,
      cluster: cluster?.name ?? '',
      user: caller?.user ?? '',
      // Whom the caller acts as.
      ...(subject !== undefined && subject !== caller && { as: subject.user }),
      verb: verbLabel(route),
      method: request?.method ?? '',
      path: route?.target.path ?? '',
      code,
      durMs: Math.round(durationMs * 10) / 10,
      bytesIn: exchange.bytesIn,
      bytesOut: reply.bytesOut,
      streams: cluster?.inFlight ?? 0,
      ...(error !== undefined && { error: error.code, reason: error.message }),
    };
    if (code >= 500 || error?.code === 'ERR_RH_INTERNAL') {
      this.#log.error({ ...line, ...causeOf(error) }, 'request');
    } else {
      this.#log.info(line, 'request');
    }
  }
}

/** A bug of ours is only found with its stack; what it says is not for clients. */
function causeOf(error: Exchange['error']): { cause?: string } {
  return error?.code === 'ERR_RH_INTERNAL' && error.cause instanceof Error
    ? { cause: error.cause.stack ?? error.cause.message }
    : {};
}
