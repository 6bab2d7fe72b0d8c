/**
 * Requests to one cluster, each until its answer is final: with the credential of now, which is obtained anew once when the
 * server does not take it, and sent again where the server asks for that and nothing can have been done twice.
 */

import { systemClock } from '@roundhouse/transport';
import type { Clock, RequestOptions, ResponseHandler } from '@roundhouse/transport';
import type { CredentialSource } from '../credentials/credential-source.ts';
import type { PresentCredential } from '../credentials/present-credential.ts';
import { KubernetesError } from '../errors.ts';
import { collectAnswer, withoutQuery } from './answer.ts';
import type { Answer, RequestSender } from './answer.ts';
import { ApiStatusError, failureIn } from './api-status-error.ts';
import { pause } from './pause.ts';
import { unlessAborted } from './unless-aborted.ts';

export interface ApiAccess {
  /** What is sent over: an identity of a pool. Its owner closes it. */
  readonly sender: RequestSender;
  /** Put before every path, as `ClusterAccess.basePath`. Default: nothing. */
  readonly basePath?: string | undefined;
  /** Who asks, where that is not told by the TLS certificate. Its owner closes it. */
  readonly credential?: CredentialSource | undefined;
  /** The product that asks, for the `User-Agent` field. Default: `roundhouse`. */
  readonly userAgent?: string | undefined;
  /** Of one answer; a larger one is an error. Default: 64 MiB. */
  readonly maxAnswerBytes?: number | undefined;
  readonly clock?: Clock | undefined;
}

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query, without the base path. */
  readonly path: string;
  readonly contentType?: string | undefined;
  /** Becomes JSON. */
  readonly body?: unknown;
  /** Default: the pool's. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What a stream is asked for with; the rest is as for `ApiRequest`. */
export type ApiStream = Pick<RequestOptions, 'silenceTimeoutMs' | 'lifetimeMs'> & {
  readonly path: string;
  readonly signal?: AbortSignal | undefined;
};

const defaultMaxAnswerBytes = 64 * 1_048_576;

/** A request is sent again that often, and all its waits together are no longer than that. */
const maxReplays = 5;
const maxReplayWaitMs = 30_000;

export class ApiRequests {
  readonly clock: Clock;
  readonly #sender: RequestSender;
  readonly #basePath: string;
  readonly #credential: CredentialSource | undefined;
  readonly #userAgent: string;
  readonly #maxAnswerBytes: number;

  constructor(access: ApiAccess) {
    this.clock = access.clock ?? systemClock;
    this.#sender = access.sender;
    this.#basePath = access.basePath ?? '';
    this.#credential = access.credential;
    this.#userAgent = access.userAgent ?? 'roundhouse';
    this.#maxAnswerBytes = access.maxAnswerBytes ?? defaultMaxAnswerBytes;
  }

  /**
   * The JSON of an answer with a status of 2xx.
   *
   * @throws ApiStatusError, ERR_RH_API_ANSWER_INVALID, ERR_RH_API_ANSWER_TOO_LARGE, what obtaining the credential fails with, and
   * all that a request can fail with
   */
  async json(request: ApiRequest): Promise<unknown> {
    const what = `${request.method} ${withoutQuery(request.path)}`;
    const answer = await this.#final(request);
    if (answer.status < 200 || answer.status > 299) {
      throw new ApiStatusError(what, this.failureOf(answer));
    }
    const value = jsonIn(answer);
    if (value === undefined) {
      throw new KubernetesError('ERR_RH_API_ANSWER_INVALID', `the answer to ${what} is not JSON`);
    }
    return value;
  }

  /** Begins a stream; what it brings and how it ends goes to the handler. For `shown`, see `present`. */
  stream(request: ApiStream, shown: PresentCredential | undefined, handler: ResponseHandler): void {
    this.#sender.dispatch(
      {
        method: 'GET',
        path: this.#basePath + request.path,
        headers: this.#headers(shown, undefined),
        kind: 'stream',
        silenceTimeoutMs: request.silenceTimeoutMs,
        lifetimeMs: request.lifetimeMs,
        signal: request.signal,
      },
      handler,
    );
  }

  /**
   * What is shown now; undefined where there is nothing to show.
   *
   * @throws ERR_RH_ABORTED, and what obtaining it fails with
   */
  async present(signal: AbortSignal | undefined): Promise<PresentCredential | undefined> {
    const credential = this.#credential;
    return credential?.present() ?? (credential && (await unlessAborted(() => credential.get(), signal)));
  }

  /**
   * The server did not take it: whether there is another one now, with which it may be asked once more.
   *
   * @throws ERR_RH_ABORTED
   */
  async renewed(refused: PresentCredential | undefined, signal: AbortSignal | undefined): Promise<boolean> {
    const credential = this.#credential;
    if (credential === undefined || refused === undefined) {
      return false;
    }
    await unlessAborted(() => credential.renew(refused), signal);
    const next = credential.present();
    return next !== undefined && !next.equals(refused);
  }

  failureOf({ status, headers, body }: Answer): ReturnType<typeof failureIn> {
    return failureIn(jsonIn({ body }), status, headers['retry-after']);
  }

  async #final(request: ApiRequest): Promise<Answer> {
    let renewed = false;
    let waitedMs = 0;
    for (let replays = 0; ; replays += 1) {
      const shown = await this.present(request.signal);
      const answer = await this.#once(request, shown);
      // Who is not known has had nothing done for him.
      if (answer.status === 401 && !renewed) {
        renewed = true;
        if (await this.renewed(shown, request.signal)) {
          continue;
        }
      }
      const delayMs = this.#replayDelayMs(request, answer);
      if (delayMs === undefined || replays >= maxReplays || waitedMs + delayMs > maxReplayWaitMs) {
        return answer;
      }
      waitedMs += delayMs;
      // A signal that ends the wait ends the next request, too, which then says so.
      await pause(this.clock, delayMs, request.signal);
    }
  }

  #once(request: ApiRequest, shown: PresentCredential | undefined): Promise<Answer> {
    const { method, path, body, contentType, timeoutMs, signal } = request;
    return collectAnswer(
      this.#sender,
      {
        method,
        path: this.#basePath + path,
        headers: this.#headers(shown, body === undefined ? undefined : (contentType ?? 'application/json')),
        body: body === undefined ? undefined : JSON.stringify(body),
        timeoutMs,
        signal,
      },
      this.#maxAnswerBytes,
    );
  }

  #headers(shown: PresentCredential | undefined, contentType: string | undefined): readonly string[] {
    const authorization = shown?.authorization;
    return [
      'accept',
      'application/json',
      'user-agent',
      this.#userAgent,
      ...(contentType === undefined ? [] : ['content-type', contentType]),
      ...(authorization === undefined ? [] : ['authorization', authorization]),
    ];
  }

  /**
   * After what time it is sent again; undefined: it is not. A 429 says that nothing was done (k8s.io/apiserver, API priority and
   * fairness); behind a 5xx something may have been, so only what changes nothing is asked for again.
   */
  #replayDelayMs({ method }: ApiRequest, answer: Answer): number | undefined {
    const untouched = answer.status === 429 || (answer.status >= 500 && method === 'GET');
    return untouched && answer.headers['retry-after'] !== undefined
      ? this.failureOf(answer).retryAfterMs
      : undefined;
  }
}

function jsonIn({ body }: Pick<Answer, 'body'>): unknown {
  try {
    const value: unknown = JSON.parse(body.toString());
    return value;
  } catch {
    return undefined;
  }
}
