/** undici's `Dispatcher` over the pool, so that `fetch`, `request` and generated clients use it by one option. */

import { Readable } from 'node:stream';
import { Dispatcher } from 'undici';
import { TransportError } from './errors.ts';
import type { RequestBody, RequestOptions, ResponseHandler } from './request.ts';

/** Sends one request to one origin; a throw fails the request. */
export type Send = (options: RequestOptions, handler: ResponseHandler, origin: string) => void;

/** The pool owns what this uses: closing or destroying a dispatcher ends nothing. */
export class PoolDispatcher extends Dispatcher {
  readonly #send: Send;

  constructor(send: Send) {
    super();
    this.#send = send;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    try {
      const { origin, upgrade } = options;
      if (origin === undefined) {
        throw new TransportError('ERR_RH_REQUEST_INVALID', 'the request names no origin');
      }
      if (upgrade !== undefined && upgrade !== null && upgrade !== false) {
        throw new TransportError('ERR_RH_REQUEST_INVALID', 'upgrades do not go through a dispatcher');
      }
      const request: RequestOptions = {
        method: options.method,
        path: pathWithQuery(options.path, options.query),
        headers: flatFields(options.headers),
        body: readableBody(options.body),
      };
      this.#send(request, handler, String(origin));
    } catch (error) {
      if (handler.onResponseError === undefined) {
        throw error;
      }
      const failed = error instanceof Error ? error : new Error(String(error));
      handler.onResponseError(new FailedController(failed), failed);
    }
    return true;
  }

  override close(callback?: () => void): Promise<void> {
    callback?.();
    return Promise.resolve();
  }

  override destroy(error?: Error | null | (() => void), callback?: () => void): Promise<void> {
    (typeof error === 'function' ? error : callback)?.();
    return Promise.resolve();
  }
}

/** The controller of a request that never began. */
class FailedController implements Dispatcher.DispatchController {
  readonly aborted = true;
  readonly paused = false;
  readonly reason: Error;

  constructor(reason: Error) {
    this.reason = reason;
  }

  abort(): void {}
  pause(): void {}
  resume(): void {}
}

function pathWithQuery(path: string, query: Record<string, unknown> | undefined): string {
  if (query === undefined) {
    return path;
  }
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const item of Array.isArray(value) ? value : [value]) {
      parameters.append(name, item === null || item === undefined ? '' : String(item));
    }
  }
  const text = parameters.toString();
  return text === '' ? path : `${path}${path.includes('?') ? '&' : '?'}${text}`;
}

function flatFields(headers: Dispatcher.DispatchOptions['headers']): string[] {
  const fields: string[] = [];
  const add = (name: string, value: string | readonly string[] | number | undefined): void => {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (item !== undefined) {
        fields.push(name, String(item));
      }
    }
  };
  if (headers === undefined || headers === null) {
    return fields;
  }
  if (Array.isArray(headers)) {
    for (let index = 0; index + 1 < headers.length; index += 2) {
      add(String(headers[index]), headers[index + 1]);
    }
    return fields;
  }
  if (Symbol.iterator in headers) {
    for (const [name, value] of headers as Iterable<[string, string | string[] | undefined]>) {
      add(name, value);
    }
    return fields;
  }
  for (const [name, value] of Object.entries(headers)) {
    add(name, value);
  }
  return fields;
}

function readableBody(body: Dispatcher.DispatchOptions['body']): RequestBody | null {
  if (body === undefined || body === null || typeof body === 'string' || body instanceof Uint8Array) {
    return body ?? null;
  }
  if (body instanceof Readable) {
    return body;
  }
  if (isIterable(body)) {
    return Readable.from(body, { objectMode: false });
  }
  throw new TransportError(
    'ERR_RH_REQUEST_INVALID',
    'the body is not a string, bytes, a stream or an iterable',
  );
}

function isIterable(value: unknown): value is AsyncIterable<unknown> | Iterable<unknown> {
  return (
    typeof value === 'object' && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value)
  );
}
