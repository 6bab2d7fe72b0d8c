/** A small document of an issuer, over our own transports: verified, bounded, never redirected. */

import { Endpoint } from '@roundhouse/transport';
import type { ResponseHandler, TlsMaterial, TransportPool } from '@roundhouse/transport';

const maxBytes = 1024 * 1024;
const timeoutMs = 10_000;

/** @throws an error of the transport, or one that says what is wrong with the answer */
export async function fetchJson(
  pool: TransportPool,
  url: URL,
  material: TlsMaterial,
  signal: AbortSignal,
): Promise<unknown> {
  const endpoint = Endpoint.from({ url: url.origin, material, alpn: 'http/1.1' });
  using lease = pool.lease(endpoint);
  const body = new DocumentBody();
  lease.dispatch(
    {
      method: 'GET',
      path: url.pathname + url.search,
      headers: ['Accept', 'application/json', 'User-Agent', 'roundhouse'],
      timeoutMs,
      signal,
    },
    body,
  );
  const text = await body.done;
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    throw new Error('the answer is not JSON');
  }
}

class DocumentBody implements ResponseHandler {
  readonly #chunks: Buffer[] = [];
  readonly #done = Promise.withResolvers<string>();
  #bytes = 0;

  get done(): Promise<string> {
    return this.#done.promise;
  }

  onRequestStart(): void {}

  onResponseStart(controller: { abort(reason: Error): void }, status: number): void {
    if (status !== 200) {
      this.#refuse(controller, `the answer is ${status}`);
    }
  }

  onResponseData(controller: { abort(reason: Error): void }, chunk: Buffer): void {
    this.#bytes += chunk.length;
    if (this.#bytes > maxBytes) {
      this.#refuse(controller, `the answer is larger than ${maxBytes} bytes`);
    } else {
      this.#chunks.push(chunk);
    }
  }

  onResponseEnd(): void {
    this.#done.resolve(Buffer.concat(this.#chunks).toString());
  }

  onResponseError(_controller: unknown, error: Error): void {
    this.#done.reject(error);
  }

  /** What is wrong is said before the abort, whose own error says only that there was one. */
  #refuse(controller: { abort(reason: Error): void }, reason: string): void {
    const error = new Error(reason);
    this.#done.reject(error);
    controller.abort(error);
  }
}
