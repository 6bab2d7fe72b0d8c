/** One upgraded connection as people see it: whose, to where, for what, since when, how much. */

import type { RoundhouseError } from '@roundhouse/transport';
import type { Caller } from '../authentication/caller.ts';
import type { Action } from '../authorization/action.ts';
import { GatewayError } from '../errors.ts';

export interface SessionFacts {
  /** The id of the request that it came from, in all logs. */
  readonly id: string;
  readonly caller: Caller;
  /** As whom the cluster sees the caller. */
  readonly subject: Caller;
  readonly cluster: string;
  /** What was authorised. */
  readonly action: Action;
  /** `websocket` or `SPDY/3.1`, as the client spells it. */
  readonly protocol: string;
}

/** What carries its bytes. */
export interface SessionCarrier {
  readonly bytesIn: number;
  readonly bytesOut: number;
  /** Resolves when it is over: with nothing after a good end, else with what broke it. Never rejects. */
  readonly over: Promise<RoundhouseError | undefined>;
  stop(error: RoundhouseError): void;
}

export class Session {
  readonly facts: SessionFacts;
  readonly startedAt = new Date();
  readonly #carrier: SessionCarrier;
  readonly #allowedNow: () => Promise<boolean>;

  /** @param allowedNow whether the same caller would get the same session now; never rejects */
  constructor(facts: SessionFacts, carrier: SessionCarrier, allowedNow: () => Promise<boolean>) {
    this.facts = facts;
    this.#carrier = carrier;
    this.#allowedNow = allowedNow;
  }

  /** From the client to the cluster. */
  get bytesIn(): number {
    return this.#carrier.bytesIn;
  }

  get bytesOut(): number {
    return this.#carrier.bytesOut;
  }

  /** Resolves when it is over: with nothing after a good end, else with what broke it. Never rejects. */
  get over(): Promise<RoundhouseError | undefined> {
    return this.#carrier.over;
  }

  /** Ends it when it would not be allowed any more. */
  async review(): Promise<void> {
    if (!(await this.#allowedNow())) {
      this.#carrier.stop(
        new GatewayError(
          'ERR_RH_SESSION_REVOKED',
          'the caller is not known any more, or may not do this any more',
        ),
      );
    }
  }

  /** Ends it, on both sides and now. */
  kill(): void {
    this.#carrier.stop(new GatewayError('ERR_RH_SESSION_KILLED', 'the session was ended by an operator'));
  }
}
