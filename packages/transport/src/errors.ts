/**
 * The error taxonomy. Every failure that leaves this package is a `TransportError` with a stable code from the
 * catalogue below; `docs/errors.md` is generated from it, so codes, texts and HTTP status live here and nowhere else.
 * Other packages build their own catalogues on `RoundhouseError`.
 */

/** `never`: trying again gives the same answer. `safe`: nothing was executed. `after`: a limit; try again later. */
export type Retry = 'never' | 'safe' | 'after';

export interface CatalogueEntry {
  /** What happened, one sentence. */
  readonly summary: string;
  /** What to do next, one sentence. */
  readonly remedy: string;
  readonly retry: Retry;
  /** The status that a proxy answers its caller with. 499 is for logs only: the caller is gone. */
  readonly httpStatus: number;
}

const brand = Symbol.for('roundhouse.error');

export interface ErrorDetails {
  readonly cause?: unknown;
  /** Facts for machines, already free of secrets. */
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Base of all errors of Roundhouse. `message` starts with the code, so that a bare log line says it. */
export class RoundhouseError<Code extends string = string> extends Error {
  readonly code: Code;
  readonly retry: Retry;
  readonly httpStatus: number;
  readonly data: Readonly<Record<string, unknown>>;
  readonly [brand] = true;

  constructor(code: Code, entry: CatalogueEntry, message: string, details: ErrorDetails = {}) {
    super(`${code}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = new.target.name;
    this.code = code;
    this.retry = entry.retry;
    this.httpStatus = entry.httpStatus;
    this.data = details.data ?? {};
  }

  /** By brand and not by class, so that it holds when two copies of the package are loaded. */
  static is(value: unknown): value is RoundhouseError {
    return typeof value === 'object' && value !== null && brand in value;
  }
}

export const transportErrors = {
  ERR_RH_ENDPOINT_INVALID: {
    summary: 'The address or the TLS options do not describe an endpoint.',
    remedy: 'Give an http:// or https:// URL of scheme, host and port only, and TLS options only with https.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_MATERIAL_INVALID: {
    summary: 'A certificate, key or CA bundle cannot be used.',
    remedy:
      'Check that each is complete PEM, that the key belongs to the certificate, and that the CA bundle is not empty.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_MATERIAL_UNAVAILABLE: {
    summary: 'A certificate, key or CA bundle could not be had.',
    remedy:
      'Check that the file is there and may be read, or what the cause says of its source; it is looked at again by itself.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_LIMITS_INVALID: {
    summary: 'A limit of the pool is unknown or out of its range.',
    remedy: 'Give whole numbers, times in milliseconds; the message names the limit and its range.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_DIALER_UNIDENTIFIED: {
    summary: 'A dialer has no stable id, so its connections cannot be told from those of others.',
    remedy: 'Give the dialer an id that is equal exactly when the way to the endpoint is equal.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_DIAL_FAILED: {
    summary: 'No connection could be made.',
    remedy: 'Check that the address is right and that something listens there; the cause names the reason.',
    retry: 'safe',
    httpStatus: 502,
  },
  ERR_RH_DIAL_TIMEOUT: {
    summary: 'No connection was made within the dial limit (TCP, TLS and tunnel together).',
    remedy: 'Check the network on the way to the address, or raise dialTimeoutMs.',
    retry: 'safe',
    httpStatus: 504,
  },
  ERR_RH_ENDPOINT_DOWN: {
    summary: 'The endpoint could not be reached several times in a row, and is left alone for a while.',
    remedy:
      'Send it again after the time that the answer names; the cause is what the last attempt to connect failed with.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_PROXY_URL_INVALID: {
    summary: 'The address of a proxy cannot be used.',
    remedy:
      'Give an http://, https://, socks5:// or socks5h:// URL of host, port and perhaps user:password, percent-encoded.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_PROXY_FAILED: {
    summary:
      'The proxy on the way could not be reached, could not be verified, or did not answer as a proxy does.',
    remedy: 'Check the address of the proxy and its protocol, and that it is up; the cause names the reason.',
    retry: 'safe',
    httpStatus: 502,
  },
  ERR_RH_PROXY_AUTH: {
    summary: 'The proxy on the way asks for credentials, or does not take those that it got.',
    remedy: 'Correct user and password in the URL of the proxy.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_PROXY_REFUSED: {
    summary: 'The proxy on the way did not connect to the server.',
    remedy: 'Check that the proxy may and can reach the server; the message has the answer of the proxy.',
    retry: 'safe',
    httpStatus: 502,
  },
  ERR_RH_TLS_UNTRUSTED: {
    summary: 'The server did not prove to be the one that was asked for.',
    remedy: 'Check the CA bundle and the server name against the certificate that the server presents.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_TLS_FAILED: {
    summary: 'The TLS handshake failed.',
    remedy:
      'Check that the server speaks TLS there, and that it accepts the client certificate and the TLS version.',
    retry: 'safe',
    httpStatus: 502,
  },
  ERR_RH_ALPN_MISMATCH: {
    summary: 'The server does not speak the protocol that was demanded.',
    remedy: "Use alpn 'auto' or the protocol that the server offers.",
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_QUEUE_FULL: {
    summary: 'As many requests wait for a connection to this endpoint as may wait.',
    remedy: 'Send fewer at a time, or raise maxWaitingPerHost or maxConnectionsPerHost.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_QUEUE_TIMEOUT: {
    summary: 'The request waited for a free connection for as long as a request may wait.',
    remedy:
      'Look for requests that hold their connections for long, or raise maxConnectionsPerHost or maxWaitMs.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_STREAM_LIMIT: {
    summary: 'As many long-running streams to this endpoint are open as may be.',
    remedy: 'End streams that nobody reads, or raise maxStreamsPerHost.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_UPGRADE_LIMIT: {
    summary:
      'As many upgraded connections (exec, port-forward, WebSockets) to this endpoint, or in all, are open as may be.',
    remedy: 'End sessions that nobody uses, or raise maxUpgradesPerHost or maxUpgrades.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_UPGRADE_INVALID: {
    summary: 'The server switched protocols, but not to what it was asked for.',
    remedy: 'Look at what stands between here and the server: something in between may answer in its place.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_AT_CAPACITY: {
    summary: 'As many endpoints are in use as may be, and none is idle.',
    remedy: 'Use fewer endpoints at a time, or raise maxTransports.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_POOL_CLOSED: {
    summary: 'The pool is closed or closing.',
    remedy: 'Send requests before closing the pool; a closing process takes no new ones.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_IDENTITY_CLOSED: {
    summary: 'The identity (for instance a cluster) was removed.',
    remedy: 'Ask for it by its present name, or add it again.',
    retry: 'never',
    httpStatus: 503,
  },
  ERR_RH_DRAINED: {
    summary: 'The request was cut at the drain limit of a rotation or a shutdown.',
    remedy: 'Send it again; long streams are expected to be opened anew.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_REQUEST_TIMEOUT: {
    summary: 'The request did not end within its time limit.',
    remedy: 'Ask for less at a time, or raise the limit; the server may be overloaded.',
    retry: 'never',
    httpStatus: 504,
  },
  ERR_RH_STREAM_SILENT: {
    summary: 'A stream outlived its bound without an end from the server.',
    remedy: 'Open it anew: the connection was most likely lost without a sign.',
    retry: 'after',
    httpStatus: 504,
  },
  ERR_RH_CONNECTION_LOST: {
    summary: 'The connection ended before the response was complete.',
    remedy: 'Check whether the request was executed before sending it again.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_CONNECTION_STALE: {
    summary: 'A kept-alive connection ended under a request that may not be sent twice.',
    remedy:
      'Check whether the request was executed; a shorter idleTimeoutMs than the server has makes this rarer.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_PROTOCOL_REFUSED: {
    summary: 'The server agreed to HTTP/2 in the handshake, and does not speak it.',
    remedy: "Leave it the choice, or use alpn 'http/1.1' for it. Check whether the request was executed.",
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_REFUSED: {
    summary: 'The server took the connection back before it looked at the request.',
    remedy: 'Send it again: nothing was executed.',
    retry: 'safe',
    httpStatus: 503,
  },
  ERR_RH_RESPONSE_INVALID: {
    summary: 'What the server sent is not a valid HTTP response.',
    remedy: 'Check that an HTTP server listens at the address.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_REQUEST_INVALID: {
    summary: 'The request cannot be put on the wire as it is.',
    remedy: 'Check method, path and header fields; the cause names the part.',
    retry: 'never',
    httpStatus: 400,
  },
  ERR_RH_REQUEST_BODY: {
    summary: 'The source of the request body failed before the body was complete.',
    remedy: 'Look at the cause: the side that sends the body broke off.',
    retry: 'never',
    httpStatus: 400,
  },
  ERR_RH_ABORTED: {
    summary: 'The caller gave the request up.',
    remedy: 'Nothing to do; the cause is the reason that the caller gave.',
    retry: 'never',
    httpStatus: 499,
  },
} as const satisfies Record<string, CatalogueEntry>;

export type TransportErrorCode = keyof typeof transportErrors;

/** An error of this package. `code` is part of the API: it changes only with a major version. */
export class TransportError extends RoundhouseError<TransportErrorCode> {
  constructor(code: TransportErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, transportErrors[code], message, details);
  }
}
