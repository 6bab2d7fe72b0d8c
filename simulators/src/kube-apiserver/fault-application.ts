/** Carries out a fault on one exchange. */
import { constants } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from './api-error.ts';
import type { Exchange } from './exchange.ts';
import type { Fault } from './faults.ts';

/** 'answered': nothing is left to do for the rooms behind. */
export type FaultOutcome = 'answered' | 'continue';

export async function applyFault(fault: Fault, exchange: Exchange): Promise<FaultOutcome> {
  const { reply } = exchange;
  switch (fault.kind) {
    case 'status':
      await sendStatus(fault, exchange);
      return 'answered';
    case 'delay':
      await waitFor(fault.until, reply.closed);
      return reply.closed.aborted ? 'answered' : 'continue';
    case 'reset': {
      const strike = strikes(fault.by ?? 'rst', exchange);
      if (fault.when === 'before-headers') {
        strike();
        return 'answered';
      }
      reply.cutAt({ when: fault.when, afterBytes: fault.afterBytes ?? 1, strike });
      return 'continue';
    }
    case 'silence': {
      const when = fault.when ?? 'before-headers';
      if (when === 'before-headers') return 'answered';
      reply.cutAt({ when, afterBytes: fault.afterBytes ?? 1, strike: () => {} });
      return 'continue';
    }
    case 'switch': {
      const { fields = {}, early = '', ending = 'complete' } = fault;
      reply.spoilSwitch({ fields, early, ending });
      return 'continue';
    }
    case 'goaway':
      return goAway(fault.refuse ?? false, exchange);
  }
}

function strikes(by: 'rst' | 'fin' | 'stream', { wire }: Exchange): () => void {
  switch (by) {
    case 'rst':
      return () => wire.connection.reset();
    case 'fin':
      return () => wire.connection.destroy();
    case 'stream':
      return () => wire.reset();
  }
}

async function sendStatus(fault: Extract<Fault, { kind: 'status' }>, { reply }: Exchange): Promise<void> {
  const ordinary = ApiError.ofCode(fault.code);
  const headers = { ...ordinary.headers, ...fault.headers };
  const { framing = 'length' } = fault;
  if (framing !== 'length') {
    const text = typeof fault.body === 'string';
    const body =
      typeof fault.body === 'string' ? fault.body : JSON.stringify(fault.body ?? ordinary.toStatus());
    await reply.begin(fault.code, {
      'Content-Type': text ? 'text/plain; charset=utf-8' : 'application/json',
      ...headers,
    });
    await reply.write(body);
    if (framing === 'chunked') await reply.end();
    return;
  }
  if (typeof fault.body === 'string')
    await reply.send(fault.code, 'text/plain; charset=utf-8', fault.body, headers);
  else await reply.json(fault.code, fault.body ?? ordinary.toStatus(), headers);
}

async function waitFor(until: number | Promise<unknown>, closed: AbortSignal): Promise<void> {
  if (typeof until === 'number') {
    // The client may leave before the time is over.
    await sleep(until, undefined, { signal: closed }).catch(() => {});
    return;
  }
  const gone = Promise.withResolvers<void>();
  const leave = (): void => gone.resolve();
  closed.addEventListener('abort', leave, { once: true });
  // A rejection ends the delay as well.
  await Promise.race([until.catch(() => {}), gone.promise]);
  closed.removeEventListener('abort', leave);
}

function goAway(refuse: boolean, { wire, reply }: Exchange): FaultOutcome {
  const { connection, request } = wire;
  if (connection.protocol !== 'h2') {
    reply.addHeaders({ Connection: 'close' });
    return 'continue';
  }
  if (!refuse) {
    connection.shutDown();
    return 'continue';
  }
  // Streams of clients have odd numbers: the one before this is the last that was worked on. Node cannot say "none was", so on
  // the first stream it is the reset alone that tells. Closing the session would announce a later stream again, which is an error.
  connection.goaway({ lastStreamId: Math.max(0, (request.streamId ?? 1) - 2) });
  wire.reset(constants.NGHTTP2_REFUSED_STREAM);
  return 'answered';
}
