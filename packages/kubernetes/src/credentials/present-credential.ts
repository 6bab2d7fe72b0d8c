/** What is shown to a cluster now. Its secrets are private, so that no log, dump or JSON of an object that holds one has them. */

/** A client certificate with its chain, and its key; PEM. */
export interface ClientPair {
  readonly cert: string;
  readonly key: string;
}

export interface PresentCredentialParts {
  /** For `Authorization: Bearer`. */
  readonly token?: string | undefined;
  readonly clientPair?: ClientPair | undefined;
  readonly expiresAt?: Date | undefined;
}

export class PresentCredential {
  /** Nothing is shown by header field; a client certificate may be in the cluster's TLS material. */
  static readonly none = new PresentCredential({});

  /** When it is no longer good, by its own word; undefined: it does not say. */
  readonly expiresAt: Date | undefined;
  readonly #token: string | undefined;
  readonly #clientPair: ClientPair | undefined;

  constructor({ token, clientPair, expiresAt }: PresentCredentialParts) {
    this.#token = token;
    this.#clientPair = clientPair;
    this.expiresAt = expiresAt;
  }

  /** The value of the header field; undefined: it is not sent. */
  get authorization(): string | undefined {
    return this.#token === undefined ? undefined : `Bearer ${this.#token}`;
  }

  /** Shown in the TLS handshake where the kubeconfig itself has none, as for client-go. */
  get clientPair(): ClientPair | undefined {
    return this.#clientPair;
  }

  /** The same secrets, whenever they end. */
  equals(other: PresentCredential): boolean {
    return (
      this.#token === other.#token &&
      this.#clientPair?.cert === other.#clientPair?.cert &&
      this.#clientPair?.key === other.#clientPair?.key
    );
  }
}
