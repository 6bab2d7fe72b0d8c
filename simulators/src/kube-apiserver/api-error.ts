/** Failures as the Kubernetes API tells them: a `Status` object with code, reason, message and details. */
import type { JsonObject } from './json.ts';

export interface StatusCause extends JsonObject {
  readonly reason: string;
  readonly message: string;
  readonly field?: string;
}

export interface StatusDetails extends JsonObject {
  readonly name?: string;
  readonly group?: string;
  readonly kind?: string;
  readonly uid?: string;
  readonly causes?: readonly StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** What an error needs to know of a resource: its group and plural name, and its kind for messages on validation. */
export interface ResourceName {
  readonly group: string;
  readonly resource: string;
  readonly kind?: string;
}

export class ApiError extends Error {
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    code: number,
    reason: string,
    message: string,
    details?: StatusDetails,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.name = 'ApiError';
    this.code = code;
    this.reason = reason;
    this.details = details;
    this.headers = headers;
  }

  toStatus(): JsonObject {
    return {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: this.message,
      ...(this.reason === '' ? {} : { reason: this.reason }),
      details: this.details,
      code: this.code,
    };
  }

  static badRequest(message: string): ApiError {
    return new ApiError(400, 'BadRequest', message);
  }

  static unauthorized(): ApiError {
    return new ApiError(401, 'Unauthorized', 'Unauthorized');
  }

  /** `of` is undefined for paths that are no resources. */
  static forbidden(why: string, of?: ResourceName, name = ''): ApiError {
    const what =
      of === undefined ? '' : `${qualified(of)} ${name === '' ? '' : `${JSON.stringify(name)} `}is `;
    return new ApiError(403, 'Forbidden', `${what}forbidden: ${why}`, details(of, name) ?? {});
  }

  static notFound(of: ResourceName, name: string): ApiError {
    return new ApiError(404, 'NotFound', `${qualified(of)} "${name}" not found`, details(of, name));
  }

  /** No such path: what the mux of the real server says. */
  static noResource(): ApiError {
    return new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});
  }

  static alreadyExists(of: ResourceName, name: string): ApiError {
    return new ApiError(409, 'AlreadyExists', `${qualified(of)} "${name}" already exists`, details(of, name));
  }

  static conflict(of: ResourceName, name: string, why = changedMeanwhile): ApiError {
    return new ApiError(
      409,
      'Conflict',
      `Operation cannot be fulfilled on ${qualified(of)} "${name}": ${why}`,
      details(of, name),
    );
  }

  static invalid(of: ResourceName, name: string, causes: readonly StatusCause[]): ApiError {
    const kind = of.kind ?? of.resource;
    const told = causes.map((cause) => `${cause.field ?? ''}: ${cause.message}`);
    const message = `${kind}${of.group === '' ? '' : `.${of.group}`} "${name}" is invalid: ${told.length === 1 ? told[0] : `[${told.join(', ')}]`}`;
    return new ApiError(422, 'Invalid', message, {
      name,
      kind,
      causes,
      ...(of.group === '' ? {} : { group: of.group }),
    });
  }

  static methodNotAllowed(): ApiError {
    return new ApiError(
      405,
      'MethodNotAllowed',
      'the server does not allow this method on the requested resource',
      {},
    );
  }

  static notAcceptable(accepted: readonly string[]): ApiError {
    return new ApiError(
      406,
      'NotAcceptable',
      `only the following media types are accepted: ${accepted.join(', ')}`,
    );
  }

  static unsupportedMediaType(accepted: readonly string[]): ApiError {
    return new ApiError(
      415,
      'UnsupportedMediaType',
      `the body of the request was in an unknown format - accepted media types include: ${accepted.join(', ')}`,
    );
  }

  /** For kinds that are built in, whose paths take the types of patches that they know before anybody looks at one. */
  static unsupportedPatch(): ApiError {
    return new ApiError(415, 'UnsupportedMediaType', '415: Unsupported Media Type', {});
  }

  static tooLarge(limitBytes: number): ApiError {
    return new ApiError(413, 'RequestEntityTooLarge', `limit is ${limitBytes}`);
  }

  /** A resourceVersion or continue token older than what is kept. */
  static expired(message: string): ApiError {
    return new ApiError(410, 'Expired', message);
  }

  static timeout(message: string, retryAfterSeconds: number): ApiError {
    return new ApiError(
      504,
      'Timeout',
      message,
      { retryAfterSeconds },
      { 'Retry-After': String(retryAfterSeconds) },
    );
  }

  static internal(message: string): ApiError {
    return new ApiError(500, 'InternalError', `Internal error occurred: ${message}`);
  }

  /** A bare code, for faults. */
  static ofCode(code: number): ApiError {
    const [reason, message] = byCode.get(code) ?? ['', `the server responded with the status code ${code}`];
    const retry = code === 429 || code === 503 ? { retryAfterSeconds: 1 } : undefined;
    return new ApiError(code, reason, message, retry, retry === undefined ? {} : { 'Retry-After': '1' });
  }
}

const changedMeanwhile =
  'the object has been modified; please apply your changes to the latest version and try again';

const byCode: ReadonlyMap<number, readonly [reason: string, message: string]> = new Map([
  [400, ['BadRequest', 'the server rejected our request for an unknown reason']],
  [401, ['Unauthorized', 'Unauthorized']],
  [403, ['Forbidden', 'forbidden']],
  [404, ['NotFound', 'the server could not find the requested resource']],
  [409, ['Conflict', 'the server reported a conflict']],
  [410, ['Expired', 'the provided resource version is too old']],
  [429, ['TooManyRequests', 'Too many requests, please try again later.']],
  [500, ['InternalError', 'Internal error occurred: injected']],
  [502, ['', 'bad gateway']],
  [503, ['ServiceUnavailable', 'the server is currently unable to handle the request']],
  [504, ['Timeout', 'the server was unable to return a response in the time allotted']],
]);

function qualified(of: ResourceName): string {
  return of.group === '' ? of.resource : `${of.resource}.${of.group}`;
}

function details(of: ResourceName | undefined, name: string | undefined): StatusDetails | undefined {
  if (of === undefined) return undefined;
  return {
    ...(name === undefined || name === '' ? {} : { name }),
    ...(of.group === '' ? {} : { group: of.group }),
    kind: of.resource,
  };
}
