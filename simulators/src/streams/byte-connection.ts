/** What the codecs speak over: a socket, or a tunnel through another protocol. */

export interface ByteConnection {
  /** In order, to the end of the peer's direction. Rejects when it ended otherwise. Read by one, once. */
  chunks(): AsyncIterable<Buffer>;
  /** Resolves when more may be written. Rejects when the connection is gone. */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends our direction in good order, after what was written. */
  end(): void;
  /** Gone at once, in both directions. */
  destroy(): void;
  /** Resolves when both directions are closed. */
  readonly closed: Promise<void>;
}

/** The connection is not there any more. */
export class ConnectionGone extends Error {
  constructor(options?: ErrorOptions) {
    super('the connection is gone', options);
    this.name = 'ConnectionGone';
  }
}

/** The peer has sent what the protocol does not allow. */
export class ProtocolViolation extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ProtocolViolation';
  }
}
