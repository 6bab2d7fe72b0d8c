/**
 * One leader among several processes, by a Lease: who holds it renews it, who does not looks at it, and takes it when it has not
 * changed for as long as it is good (k8s.io/client-go, tools/leaderelection). Clocks of different machines are never compared: a
 * lease counts from when a change of it was seen here. A leader that cannot renew in time ends before anybody else may begin.
 */

import type { Timer } from '@roundhouse/transport';
import type { CallOptions, KubeClient } from '../client/kube-client.ts';
import { isApiStatus } from '../client/api-status-error.ts';
import { pause } from '../client/pause.ts';
import { KubernetesError } from '../errors.ts';
import { leases, microTime } from './lease.ts';
import type { LeaseObject, LeaseRecord } from './lease.ts';

export interface LeaderElectionOptions {
  readonly namespace: string;
  readonly name: string;
  /** Of this process; no two may have the same. */
  readonly identity: string;
  /** Called each time this process becomes the leader. The signal says when it is no longer. */
  readonly onLeading: (signal: AbortSignal) => void;
  /** Each failure to read or to write the Lease; another attempt follows. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** For so long after its last change a Lease is its holder's. Default: 15 s. */
  readonly leaseMs?: number | undefined;
  /** For so long a leader goes on without having renewed; shorter than `leaseMs`. Default: 10 s. */
  readonly renewLimitMs?: number | undefined;
  /** Between two looks, and between two renewals. Default: 2 s. */
  readonly intervalMs?: number | undefined;
  /** From 0 to below 1; spreads the looks of many. Default `Math.random`. */
  readonly random?: (() => number) | undefined;
}

export class LeaderElection implements AsyncDisposable {
  readonly #client: KubeClient;
  readonly #options: LeaderElectionOptions;
  readonly #end = new AbortController();
  /** While this process leads, and when that ends unless it is renewed. */
  #term: AbortController | undefined;
  #termLimit: Timer | undefined;
  /** As it was seen last, and since when it has been so. */
  #seen: LeaseObject | undefined;
  #seenAt = 0;
  #running: Promise<void> = Promise.resolve();

  private constructor(client: KubeClient, options: LeaderElectionOptions) {
    this.#client = client;
    this.#options = options;
  }

  /**
   * Begins to look at once.
   *
   * @throws ERR_RH_LEASE_INVALID
   */
  static open(client: KubeClient, options: LeaderElectionOptions): LeaderElection {
    const { intervalMs, renewLimitMs, leaseMs } = timesOf(options);
    if (options.identity === '' || !(intervalMs < renewLimitMs && renewLimitMs < leaseMs)) {
      throw new KubernetesError(
        'ERR_RH_LEASE_INVALID',
        `the identity is empty, or of the times ${intervalMs}, ${renewLimitMs} and ${leaseMs} ms one is not longer than the one before`,
      );
    }
    const election = new LeaderElection(client, options);
    election.#running = election.#run();
    return election;
  }

  get leading(): boolean {
    return this.#term !== undefined;
  }

  /** Who leads, as far as is known; undefined: nobody does. */
  get leader(): string | undefined {
    const holder = this.#seen?.spec.holderIdentity;
    return holder === '' ? undefined : holder;
  }

  /** Leads no more, and gives the Lease back, so that the next one need not wait for its end. */
  async close(): Promise<void> {
    this.#end.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #run(): Promise<void> {
    const { signal } = this.#end;
    const { random = Math.random } = this.#options;
    const { intervalMs } = timesOf(this.#options);
    while (!signal.aborted) {
      await this.#attempt(signal);
      if (!signal.aborted) {
        const delayMs = this.leading ? intervalMs : intervalMs * (1 + 0.2 * random());
        await pause(this.#client.clock, delayMs, signal);
      }
    }
    this.#resign();
    await this.#giveBack();
  }

  async #attempt(signal: AbortSignal): Promise<void> {
    try {
      await this.#tryToHold({ signal, timeoutMs: timesOf(this.#options).renewLimitMs });
    } catch (error) {
      // With a conflict somebody else was quicker.
      if (!signal.aborted && !isApiStatus(error, 409)) {
        this.#options.onError?.(error);
      }
    }
  }

  /** Renews it, takes it, or sees who has it. */
  async #tryToHold(call: CallOptions): Promise<void> {
    const { namespace, name, identity } = this.#options;
    const askedAt = this.#client.clock.now();
    const found = await this.#read(call);
    if (found === undefined) {
      const created = await this.#client.create(
        leases,
        { metadata: { namespace, name }, spec: this.#record(undefined) },
        call,
      );
      this.#hold(created, askedAt);
      return;
    }
    if (found.metadata.resourceVersion !== this.#seen?.metadata.resourceVersion) {
      this.#seen = found;
      // After the answer: it may have been written just before that.
      this.#seenAt = this.#client.clock.now();
    }
    const { holderIdentity, leaseDurationSeconds } = found.spec;
    if (holderIdentity !== identity) {
      // Somebody else may have it, although we have thought that we do.
      this.#resign();
      const heldUntil = this.#seenAt + leaseDurationSeconds * 1000;
      if (holderIdentity !== '' && this.#client.clock.now() < heldUntil) {
        return;
      }
    }
    // With the resourceVersion that was read: of several that try, one does.
    const updated = await this.#client.update(leases, { ...found, spec: this.#record(found.spec) }, call);
    this.#hold(updated, askedAt);
  }

  async #read(call: CallOptions): Promise<LeaseObject | undefined> {
    const { namespace, name } = this.#options;
    try {
      return await this.#client.get(leases, { namespace, name }, call);
    } catch (error) {
      if (isApiStatus(error, 404)) {
        return undefined;
      }
      throw error;
    }
  }

  /** @param askedAt counts, and not when the answer came: the Lease may have been written long before that */
  #hold(lease: LeaseObject, askedAt: number): void {
    this.#seen = lease;
    const leftMs = askedAt + timesOf(this.#options).renewLimitMs - this.#client.clock.now();
    if (leftMs <= 0 || this.#end.signal.aborted) {
      return;
    }
    this.#termLimit?.cancel();
    this.#termLimit = this.#client.clock.setTimeout(() => this.#resign(), leftMs);
    if (this.#term === undefined) {
      this.#term = new AbortController();
      this.#options.onLeading(this.#term.signal);
    }
  }

  #resign(): void {
    const term = this.#term;
    this.#term = undefined;
    this.#termLimit?.cancel();
    term?.abort();
  }

  /** As well as it goes: who waits gets it in any case when it has not been renewed for long enough. */
  async #giveBack(): Promise<void> {
    const { identity, onError } = this.#options;
    if (this.#seen?.spec.holderIdentity !== identity) {
      return;
    }
    const call = { timeoutMs: timesOf(this.#options).intervalMs };
    try {
      // Read anew: a write that was broken off may have been done.
      const lease = await this.#read(call);
      if (lease?.spec.holderIdentity === identity) {
        const spec = { ...lease.spec, holderIdentity: '', leaseDurationSeconds: 1 };
        this.#seen = await this.#client.update(leases, { ...lease, spec }, call);
      }
    } catch (error) {
      onError?.(error);
    }
  }

  #record(former: LeaseRecord | undefined): LeaseRecord {
    const { identity } = this.#options;
    const now = microTime(this.#client.clock.now());
    const mine = former?.holderIdentity === identity;
    return {
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(timesOf(this.#options).leaseMs / 1000),
      acquireTime: mine ? former.acquireTime : now,
      renewTime: now,
      leaseTransitions: (former?.leaseTransitions ?? -1) + (mine ? 0 : 1),
    };
  }
}

type Times = Required<Pick<LeaderElectionOptions, 'intervalMs' | 'renewLimitMs' | 'leaseMs'>>;

function timesOf({ intervalMs, renewLimitMs, leaseMs }: LeaderElectionOptions): {
  [Name in keyof Times]: number;
} {
  return {
    intervalMs: intervalMs ?? 2_000,
    renewLimitMs: renewLimitMs ?? 10_000,
    leaseMs: leaseMs ?? 15_000,
  };
}
