/**
 * The errors of this package: `TunnelError`s with a stable code from the catalogue below, from which `docs/errors.md` is made. They have
 * the shape and the brand of Roundhouse's other errors without importing them.
 */

/** `never`: trying again gives the same answer. `safe`: nothing was executed. `after`: a limit; try again later. */
export type TunnelRetry = 'never' | 'safe' | 'after';

export interface TunnelErrorEntry {
  /** What happened, one sentence. */
  readonly summary: string;
  /** What to do next, one sentence. */
  readonly remedy: string;
  readonly retry: TunnelRetry;
  /** The status that a proxy answers its caller with. */
  readonly httpStatus: number;
}

/** Why a dial failed, in the words of the Go client's metric `dial_failure_total`. */
export const dialFailureReasons = [
  'unknown',
  'timeout',
  'context',
  'endpoint',
  'dialclosed',
  'tunnelclosed',
  'tunnelstarted',
  'streamsetup',
] as const;

export type DialFailureReason = (typeof dialFailureReasons)[number];

export const tunnelErrors = {
  ERR_RH_TUNNEL_OPTIONS: {
    summary: 'The way through a proxy-server is not described so that it could be used.',
    remedy: 'Correct what the message names: an address, a limit or the TLS material.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_TUNNEL_ADDRESS: {
    summary: 'The address to dial through the tunnel cannot stand in a dial request.',
    remedy: 'Give a host and a port from 1 to 65535, without spaces or control characters.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_TUNNEL_SERVER: {
    summary: 'No session with a proxy-server could be made, or it did not take a tunnel.',
    remedy:
      'Check the address of the proxy-server, that it is up, and that it runs in the mode that is configured.',
    retry: 'safe',
    httpStatus: 502,
  },
  ERR_RH_TUNNEL_UNTRUSTED: {
    summary: 'The proxy-server did not prove to be the one that was asked for, or does not trust us.',
    remedy:
      'Check its CA and server name, and our client certificate against the CA that the proxy-server knows.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_TUNNEL_NO_AGENT: {
    summary: 'No agent of that cluster is connected to the proxy-server.',
    remedy:
      'Check that the agent in the cluster runs, reaches the proxy-server, and announces the name that is dialed.',
    retry: 'safe',
    httpStatus: 503,
  },
  ERR_RH_TUNNEL_DIAL: {
    summary: 'The agent could not connect to the address.',
    remedy: 'The message has the words of the agent: the name and the port are looked up on its side.',
    retry: 'safe',
    httpStatus: 502,
  },
  ERR_RH_TUNNEL_DIAL_TIMEOUT: {
    summary: 'The dial was not answered within its limit.',
    remedy:
      'Check that the agent of the cluster lives and reaches the address; its own limit for a connect is 5 s.',
    retry: 'safe',
    httpStatus: 504,
  },
  ERR_RH_TUNNEL_DIAL_LOST: {
    summary: 'The session or the tunnel ended before the dial was answered.',
    remedy: 'Dial again: another session is used.',
    retry: 'safe',
    httpStatus: 502,
  },
  ERR_RH_TUNNEL_LOST: {
    summary: 'The tunnel ended without a word from the other side that it is closed.',
    remedy: 'Treat what was read as incomplete, and check whether what was sent was executed.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_TUNNEL_BROKEN: {
    summary: 'The agent or the proxy-server closed the tunnel with an error.',
    remedy: 'The message has their words. Treat what was read as incomplete.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_TUNNEL_ENDED: {
    summary: 'Something was written to a tunnel that the other side had closed already.',
    remedy: 'Dial a new one.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_TUNNEL_PROTOCOL: {
    summary: 'What the proxy-server sent is not the protocol of konnectivity.',
    remedy: 'Check that the address is the one for clients (8090 by default), and the mode of the server.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_TUNNEL_STALLED: {
    summary: 'The tunnel was cut because its reader did not read while much was waiting.',
    remedy: 'Read what is received, or ask for less: a tunnel that is not read holds up all of its cluster.',
    retry: 'never',
    httpStatus: 504,
  },
  ERR_RH_TUNNEL_LIMIT: {
    summary: 'As many tunnels, or dials under way, as may be.',
    remedy: 'End tunnels that are not needed, or raise maxTunnels, maxTunnelsPerTarget or maxDialsPerTarget.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_TUNNEL_CLOSED: {
    summary: 'The way through the proxy-server is closed on our side.',
    remedy: 'Dial before closing; after a rotation dial through the new one.',
    retry: 'after',
    httpStatus: 503,
  },
} as const satisfies Record<string, TunnelErrorEntry>;

export type TunnelErrorCode = keyof typeof tunnelErrors;

export interface TunnelErrorDetails {
  readonly cause?: unknown;
  /** Of an error of a dial. */
  readonly reason?: DialFailureReason;
  /** Facts for machines, free of secrets. */
  readonly data?: Readonly<Record<string, unknown>>;
}

const brand = Symbol.for('roundhouse.error');

/** An error of this package. `code` is part of the API. `message` starts with it. */
export class TunnelError extends Error {
  readonly code: TunnelErrorCode;
  readonly retry: TunnelRetry;
  readonly httpStatus: number;
  readonly reason: DialFailureReason | undefined;
  readonly data: Readonly<Record<string, unknown>>;
  readonly [brand] = true;

  constructor(code: TunnelErrorCode, message: string, details: TunnelErrorDetails = {}) {
    super(`${code}: ${message}`, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'TunnelError';
    this.code = code;
    this.retry = tunnelErrors[code].retry;
    this.httpStatus = tunnelErrors[code].httpStatus;
    this.reason = details.reason;
    this.data = details.data ?? {};
  }
}

const longestText = 512;

/** Words of a peer as they may stand in a message: one line of bounded length, without control characters. */
export function wordsOf(text: string): string {
  const line = text
    .slice(0, longestText)
    // oxlint-disable-next-line no-control-regex -- they are what must not get into a log
    .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ')
    .trim();
  return text.length > longestText ? `${line}...` : line;
}
