/** The `Status` object by which a Kubernetes API says what went wrong (k8s.io/apimachinery, meta/v1). */

export interface StatusCause {
  readonly reason?: string;
  readonly message?: string;
}

export interface Status {
  readonly kind: 'Status';
  readonly apiVersion: 'v1';
  readonly metadata: Readonly<Record<string, never>>;
  readonly status: 'Failure';
  readonly message: string;
  readonly reason: string;
  readonly details: {
    /** Of what the request was about. */
    readonly name?: string;
    readonly group?: string;
    /** The resource, whatever the field is called. */
    readonly kind?: string;
    readonly causes: readonly StatusCause[];
    readonly retryAfterSeconds?: number;
  };
  readonly code: number;
}

export interface StatusFacts {
  readonly code: number;
  readonly message: string;
  /** For machines; ours is the code of the error. */
  readonly cause?: StatusCause;
  readonly retryAfterSeconds?: number | undefined;
  /** What the request was about. */
  readonly details?: Pick<Status['details'], 'name' | 'group' | 'kind'>;
}

export function failureStatus({ code, message, cause, retryAfterSeconds, details }: StatusFacts): Status {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    message,
    reason: reasons[code] ?? 'InternalError',
    details: {
      ...details,
      causes: cause === undefined ? [] : [cause],
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
    },
    code,
  };
}

/** `metav1.StatusReason` by HTTP status. */
const reasons: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  429: 'TooManyRequests',
  431: 'BadRequest',
  500: 'InternalError',
  501: 'NotImplemented',
  502: 'BadGateway',
  503: 'ServiceUnavailable',
  504: 'Timeout',
};
