/** A failure that the Kubernetes API itself has told: its status, and the `Status` object that came with it. */

import { KubernetesError } from '../errors.ts';
import type { StatusCause } from '../status.ts';
import { isFields } from './fields.ts';

/** Of what a server says; the rest is cut off. */
const maxMessageLength = 1_000;

export interface ApiFailure {
  readonly status: number;
  /** `metav1.StatusReason`, for instance `NotFound`; empty where the answer has none. */
  readonly reason: string;
  readonly message: string;
  readonly causes: readonly StatusCause[];
  /** From the header field or the `Status`. */
  readonly retryAfterMs: number | undefined;
}

export class ApiStatusError extends KubernetesError implements Omit<ApiFailure, 'message'> {
  readonly status: number;
  readonly reason: string;
  readonly causes: readonly StatusCause[];
  readonly retryAfterMs: number | undefined;

  /** @param what was asked, for instance `GET /api/v1/nodes` */
  constructor(what: string, failure: ApiFailure) {
    const { status, reason, message, causes, retryAfterMs } = failure;
    const named = reason === '' ? String(status) : `${status} ${reason}`;
    super('ERR_RH_API_STATUS', `${what} was answered with ${named}${message === '' ? '' : `: ${message}`}`, {
      data: { status, reason },
    });
    this.status = status;
    this.reason = reason;
    this.causes = causes;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Whether an error is an answer of the API, and, where `status` is given, of that status. */
export function isApiStatus(error: unknown, status?: number): error is ApiStatusError {
  return error instanceof ApiStatusError && (status === undefined || error.status === status);
}

/**
 * What an answer with a status of 400 or above, or an ERROR event of a watch, says.
 *
 * @param value a `Status`, or whatever came in its place, of which nothing is quoted
 */
export function failureIn(value: unknown, httpStatus: number, retryAfterField?: unknown): ApiFailure {
  const retryAfterMs = retryAfterMsIn(retryAfterField);
  if (!isFields(value) || value['kind'] !== 'Status') {
    return { status: httpStatus, reason: '', message: '', causes: [], retryAfterMs };
  }
  const { code, reason, message, details } = value;
  const facts = isFields(details) ? details : {};
  const seconds = facts['retryAfterSeconds'];
  return {
    status: typeof code === 'number' ? code : httpStatus,
    reason: typeof reason === 'string' ? reason : '',
    message: typeof message === 'string' ? printable(message) : '',
    causes: Array.isArray(facts['causes']) ? facts['causes'].filter(isFields).map(causeIn) : [],
    retryAfterMs: retryAfterMs ?? (typeof seconds === 'number' && seconds > 0 ? seconds * 1000 : undefined),
  };
}

/** Whole seconds, as Kubernetes gives them; the other form of RFC 9110, a date, is as good as none. */
function retryAfterMsIn(field: unknown): number | undefined {
  return typeof field === 'string' && /^\d{1,6}$/.test(field) ? Number(field) * 1000 : undefined;
}

function causeIn(fields: Readonly<Record<string, unknown>>): StatusCause {
  const { reason, message } = fields;
  return {
    ...(typeof reason === 'string' && { reason }),
    ...(typeof message === 'string' && { message: printable(message) }),
  };
}

function printable(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  return line.length > maxMessageLength ? `${line.slice(0, maxMessageLength)}...` : line;
}
