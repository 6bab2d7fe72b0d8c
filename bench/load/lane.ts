/** One place in the load: it asks, waits for the whole answer, and only then asks again. */
export interface Lane {
  /** Resolves when the answer is complete, rejects when it is not the expected one. */
  exchange(): Promise<void>;
  close(): void;
}

/** What is asked again and again. */
export interface Ask {
  /** Absolute; `https:` means TLS. */
  readonly url: string;
  /** Certificate authority of an `https:` front. */
  readonly caPem: string;
  /** The answer's body must have exactly this length. */
  readonly bodyBytes: number;
}
