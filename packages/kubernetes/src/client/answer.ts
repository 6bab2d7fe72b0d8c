/** One request and its whole answer, which is bounded. */

import type { IncomingHttpHeaders } from 'node:http';
import type { Identity, RequestOptions } from '@roundhouse/transport';
import { KubernetesError } from '../errors.ts';

/** What requests go over: an identity of a pool, or a lease. */
export type RequestSender = Pick<Identity, 'dispatch'>;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/**
 * @param maxBytes of the body
 * @throws ERR_RH_API_ANSWER_TOO_LARGE, and all that a request can fail with
 */
export function collectAnswer(
  sender: RequestSender,
  request: RequestOptions,
  maxBytes: number,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const chunks: Buffer[] = [];
  let bytes = 0;
  let head: Omit<Answer, 'body'> = { status: 0, headers: {} };
  sender.dispatch(request, {
    onResponseStart: (_controller, status, headers) => {
      head = { status, headers };
    },
    onResponseData: (controller, chunk) => {
      bytes += chunk.length;
      if (bytes > maxBytes) {
        controller.abort(tooLarge(request, maxBytes));
        return;
      }
      chunks.push(chunk);
    },
    onResponseEnd: () => resolve({ ...head, body: Buffer.concat(chunks) }),
    onResponseError: (_controller, error) => reject(error),
  });
  return promise;
}

function tooLarge({ method, path }: RequestOptions, maxBytes: number): KubernetesError {
  return new KubernetesError(
    'ERR_RH_API_ANSWER_TOO_LARGE',
    `the answer to ${method} ${withoutQuery(path)} is larger than ${maxBytes} bytes`,
  );
}

/** For messages: what is asked of what, without a selector that may tell more than it should. */
export function withoutQuery(path: string): string {
  const [place = ''] = path.split('?', 1);
  return place;
}
