/**
 * One answer from the cluster to the client, with back-pressure all the way: what the client does not take is not read from
 * the cluster. It ends once, in one of four ways: complete, refused (a `Status` instead), broken off, or told to stop.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { ResponseHandler, RoundhouseError } from '@roundhouse/transport';
import { GatewayError } from '../errors.ts';
import type { Reply } from '../listener/reply.ts';
import { refusalOfAnswer } from './answer-refusal.ts';
import type { AskedCluster } from './answer-refusal.ts';
import { clientGone } from './client-gone.ts';
import { answerFailure, asRoundhouseError, statusOf } from './failure-answer.ts';
import { responseFields } from './response-fields.ts';
import { WatchTail } from './watch-tail.ts';

type Controller = Parameters<NonNullable<ResponseHandler['onResponseData']>>[0];

export interface RelayOptions extends AskedCluster {
  readonly reply: Reply;
  readonly isWatch: boolean;
  /** Its head goes out at once, even when no event follows for now. */
  readonly isStream: boolean;
  readonly clientStallTimeoutMs: number;
  /**
   * After a 401 against the gateway's own credential: sends the request once more, if that is worth it. Undefined where the
   * request cannot be sent twice.
   */
  readonly askAgain: (() => Promise<boolean>) | undefined;
  /** The cluster has answered with these fields. */
  readonly onAnswer: (headers: IncomingHttpHeaders) => void;
}

export class Relay implements ResponseHandler {
  readonly #options: RelayOptions;
  readonly #reply: Reply;
  readonly #done = Promise.withResolvers<RoundhouseError | undefined>();
  #controller: Controller | undefined;
  /** Of a watch, once it is answered. */
  #tail: WatchTail | undefined;
  #stall: NodeJS.Timeout | undefined;
  /** Set when the answer is in our hands and the cluster's end of it means nothing any more. */
  #ending = false;
  #hasAskedAgain = false;
  #bytesIn = 0;

  constructor(options: RelayOptions) {
    this.#options = options;
    this.#reply = options.reply;
    this.#reply.onDrain = () => this.#drained();
    this.#reply.onClosed = (complete) => this.#closed(complete);
  }

  /** Resolves when the client's side is over: with nothing when it was served, else with what went wrong. Never rejects. */
  get done(): Promise<RoundhouseError | undefined> {
    return this.#done.promise;
  }

  /** Of the cluster's answer. */
  get bytesIn(): number {
    return this.#bytesIn;
  }

  /**
   * The gateway is going down: a stream ends as if the cluster had ended it, which clients are used to; a short request that
   * was still not answered is cut.
   */
  stop(): void {
    const error = new GatewayError('ERR_RH_SHUTTING_DOWN', 'the gateway is shutting down');
    if (!this.#options.isStream || !this.#reply.started) {
      this.#abort(error);
      return;
    }
    this.#ending = true;
    this.#controller?.abort(error);
    if (this.#tail === undefined || this.#tail.atBoundary) {
      this.#reply.end();
    } else {
      this.#reply.reset();
    }
    this.#settle(undefined);
  }

  /** Gives the request up; for a client that is gone, or a failure on our side. */
  #abort(error: RoundhouseError): void {
    if (this.#controller === undefined) {
      this.#fail(error);
    } else {
      this.#controller.abort(error);
    }
  }

  onRequestStart(controller: Controller): void {
    this.#controller = controller;
    if (this.#reply.closed || this.#ending) {
      controller.abort(clientGone());
    }
  }

  onResponseStart(controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    const refusal = refusalOfAnswer(status, headers, this.#options);
    this.#options.onAnswer(headers);
    if (refusal !== undefined) {
      controller.abort(refusal);
      return;
    }
    const { fields, mediaType, encoded } = responseFields(rawFieldsOf(controller));
    const { isWatch, isStream } = this.#options;
    if (isWatch) {
      this.#tail = new WatchTail(status === 200 && mediaType === 'application/json' && !encoded);
    }
    this.#reply.start(status, fields, isStream);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.#bytesIn += chunk.length;
    this.#tail?.passed(chunk);
    if (!this.#reply.closed && !this.#reply.write(chunk)) {
      controller.pause();
      this.#watchStall();
    }
  }

  onResponseEnd(): void {
    if (!this.#ending) {
      this.#ending = true;
      this.#reply.end();
    }
  }

  onResponseError(_controller: Controller | null, error: Error): void {
    if (this.#ending) {
      return;
    }
    const failure = asRoundhouseError(error);
    const { askAgain } = this.#options;
    if (
      failure.code === 'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED' &&
      askAgain !== undefined &&
      !this.#hasAskedAgain
    ) {
      this.#hasAskedAgain = true;
      this.#controller = undefined;
      void this.#askAgain(askAgain, failure);
    } else {
      this.#fail(failure);
    }
  }

  async #askAgain(askAgain: () => Promise<boolean>, refusal: RoundhouseError): Promise<void> {
    let failure: RoundhouseError | undefined;
    try {
      failure = (await askAgain()) ? undefined : refusal;
    } catch (error) {
      failure = asRoundhouseError(error);
    }
    if (failure !== undefined && !this.#ending) {
      this.#fail(failure);
    }
  }

  #fail(error: RoundhouseError): void {
    this.#ending = true;
    if (!this.#reply.started) {
      answerFailure(this.#reply, error);
    } else {
      this.#breakOff(error);
    }
    this.#settle(error);
  }

  /** Never looks like a good end, unless the client can be told in the protocol of the watch. */
  #breakOff(error: RoundhouseError): void {
    const event = ourDecision.has(error.code) ? this.#tail?.errorEvent(statusOf(error)) : undefined;
    if (event === undefined || this.#reply.closed) {
      this.#reply.reset();
    } else {
      this.#reply.write(event);
      this.#reply.end();
    }
  }

  #drained(): void {
    clearTimeout(this.#stall);
    this.#stall = undefined;
    if (!this.#ending) {
      this.#controller?.resume();
    }
  }

  /** While the client takes nothing, nothing is read; a client that takes nothing for long holds a connection for nothing. */
  #watchStall(): void {
    const { clientStallTimeoutMs } = this.#options;
    this.#stall ??= setTimeout(() => {
      const seconds = clientStallTimeoutMs / 1000;
      this.#controller?.abort(
        new GatewayError('ERR_RH_CLIENT_STALLED', `the client took nothing for ${seconds} s`),
      );
    }, clientStallTimeoutMs);
  }

  #closed(complete: boolean): void {
    if (complete) {
      this.#settle(undefined);
      return;
    }
    const gone = clientGone();
    if (!this.#ending) {
      this.#ending = true;
      this.#controller?.abort(gone);
    }
    this.#settle(gone);
  }

  #settle(error: RoundhouseError | undefined): void {
    clearTimeout(this.#stall);
    this.#done.resolve(error);
  }
}

/** Ends that are ours to explain. A cluster that breaks off is none: its client must see that it did. */
const ourDecision: ReadonlySet<string> = new Set([
  'ERR_RH_IDENTITY_CLOSED',
  'ERR_RH_DRAINED',
  'ERR_RH_STREAM_SILENT',
]);

/** The transport gives them as strings, whatever else undici's type allows. */
function rawFieldsOf(controller: Controller): string[] {
  const raw = 'rawHeaders' in controller ? controller.rawHeaders : undefined;
  return Array.isArray(raw) && raw.every((field) => typeof field === 'string') ? raw : [];
}
