/**
 * One watch, from the request to its end: events as they come, nothing kept. It is bounded in time on this side, too, because a
 * connection that is lost without a sign says nothing for ever. What comes after its end is for whoever asked.
 */

import { TransportError } from '@roundhouse/transport';
import type { ResponseHandler, Timer } from '@roundhouse/transport';
import { withoutQuery } from '../client/answer.ts';
import type { ApiRequests } from '../client/api-requests.ts';
import { ApiStatusError, failureIn, isApiStatus } from '../client/api-status-error.ts';
import { ShapeError } from '../client/kube-object.ts';
import type { PresentCredential } from '../credentials/present-credential.ts';
import { KubernetesError } from '../errors.ts';
import { LineReader } from './line-reader.ts';
import { readWatchEvent } from './watch-event.ts';
import type { WatchEvent } from './watch-event.ts';

export interface WatchLimits {
  /** The server is asked to end it after so long, in whole seconds; this side ends it soon after. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined;
  /**
   * End it when no byte came for so long. Servers send a bookmark each minute, where they have them; others are asked anew, which
   * costs a request. Default: 2 minutes.
   */
  readonly silenceTimeoutMs?: number | undefined;
  /** Of one event. Default: 16 MiB; an object in etcd has 1.5 MiB at the most. */
  readonly maxEventBytes?: number | undefined;
}

export interface WatchRequest extends WatchLimits {
  /** Without `timeoutSeconds`. */
  readonly path: string;
  readonly kind: { readonly apiVersion: string; readonly kind: string };
  readonly signal?: AbortSignal | undefined;
  /** What it throws ends the watch, and is what the watch fails with. */
  readonly onEvent: (event: WatchEvent) => void;
}

const defaultTimeoutMs = 300_000;
const defaultSilenceTimeoutMs = 120_000;
const defaultMaxEventBytes = 16 * 1_048_576;

/** The server's clock and the way: a watch that it has ended is over here by then. */
const lateMs = 5_000;

/** From the request to the head of its answer; where that is a failure, to the end of it. */
const answerTimeoutMs = 30_000;

/** Of a failure's body; the rest is passed over. */
const maxFailureBytes = 65_536;

/**
 * Resolves when the server has ended it in good order.
 *
 * @throws ApiStatusError for an answer or an event that says why not, ERR_RH_WATCH_INVALID, ERR_RH_STREAM_SILENT for one that
 * outlived its bound or fell silent, and all that a request can fail with
 */
export async function watch(requests: ApiRequests, request: WatchRequest): Promise<void> {
  for (let renewed = false; ; renewed = true) {
    const shown = await requests.present(request.signal);
    try {
      await new Watch(requests, request).run(shown);
      return;
    } catch (error) {
      if (renewed || !isApiStatus(error, 401) || !(await requests.renewed(shown, request.signal))) {
        throw error;
      }
    }
  }
}

type Controller = Parameters<NonNullable<ResponseHandler['onRequestStart']>>[0];

class Watch {
  readonly #requests: ApiRequests;
  readonly #request: WatchRequest;
  readonly #lines: LineReader;
  readonly #ended = Promise.withResolvers<void>();
  readonly #failure: Buffer[] = [];
  #failureBytes = 0;
  #status = 0;
  #retryAfter: unknown;
  #answerTimer: Timer | undefined;

  constructor(requests: ApiRequests, request: WatchRequest) {
    this.#requests = requests;
    this.#request = request;
    this.#lines = new LineReader(request.maxEventBytes ?? defaultMaxEventBytes);
  }

  async run(shown: PresentCredential | undefined): Promise<void> {
    const { path, signal, timeoutMs = defaultTimeoutMs } = this.#request;
    const { silenceTimeoutMs = defaultSilenceTimeoutMs } = this.#request;
    const timeoutSeconds = Math.max(1, Math.round(timeoutMs / 1000));
    const stream = {
      path: `${path}${path.includes('?') ? '&' : '?'}timeoutSeconds=${timeoutSeconds}`,
      signal,
      silenceTimeoutMs,
      lifetimeMs: timeoutSeconds * 1000 + lateMs,
    };
    this.#requests.stream(stream, shown, {
      onRequestStart: (controller) => this.#expectAnswer(controller),
      onResponseStart: (_controller, status, headers) => {
        this.#status = status;
        this.#retryAfter = headers['retry-after'];
        if (this.#succeeded) {
          this.#answerTimer?.cancel();
        }
      },
      onResponseData: (_controller, chunk) => this.#take(chunk),
      onResponseEnd: () => this.#end(),
      onResponseError: (_controller, error) => this.#ended.reject(error),
    });
    try {
      await this.#ended.promise;
    } finally {
      this.#answerTimer?.cancel();
    }
  }

  get #succeeded(): boolean {
    return this.#status >= 200 && this.#status <= 299;
  }

  get #what(): string {
    return `a watch of ${withoutQuery(this.#request.path)}`;
  }

  #expectAnswer(controller: Controller): void {
    this.#answerTimer = this.#requests.clock.setTimeout(() => {
      controller.abort(
        new TransportError(
          'ERR_RH_REQUEST_TIMEOUT',
          `${this.#what} was not answered within ${answerTimeoutMs} ms`,
        ),
      );
    }, answerTimeoutMs);
  }

  #take(chunk: Buffer): void {
    if (!this.#succeeded) {
      this.#failureBytes += chunk.length;
      if (this.#failureBytes <= maxFailureBytes) {
        this.#failure.push(chunk);
      }
      return;
    }
    this.#read(() => {
      for (const line of this.#lines.push(chunk)) {
        this.#tell(line);
      }
    });
  }

  #end(): void {
    try {
      if (!this.#succeeded) {
        const body = Buffer.concat(this.#failure).toString();
        throw new ApiStatusError(this.#what, failureIn(json(body), this.#status, this.#retryAfter));
      }
      const rest = this.#lines.rest();
      if (rest !== '') {
        this.#read(() => this.#tell(rest));
      }
      this.#ended.resolve();
    } catch (error) {
      this.#ended.reject(error);
    }
  }

  #tell(line: string): void {
    const event = readWatchEvent(line, this.#request.kind);
    if (event.type === 'ERROR') {
      throw new ApiStatusError(this.#what, event.failure);
    }
    this.#request.onEvent(event);
  }

  #read(read: () => void): void {
    try {
      read();
    } catch (error) {
      throw error instanceof ShapeError
        ? new KubernetesError(
            'ERR_RH_WATCH_INVALID',
            `${this.#what} brought what is no event: ${error.message}`,
          )
        : error;
    }
  }
}

function json(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}
