/** Who is calling: by client certificate, bearer token, or nobody known (k8s.io/apiserver/pkg/authentication). */
import { timingSafeEqual, createHash } from 'node:crypto';
import type { RecordedTls } from '../recorded-connection.ts';
import type { RecordedRequest } from '../recorded-request.ts';
import { ApiError } from './api-error.ts';

export interface Caller {
  readonly username: string;
  /** Empty when the authenticator gave none. */
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export interface TokenUser {
  readonly username: string;
  readonly uid?: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
}

export interface AuthenticationOptions {
  /** By token. */
  readonly tokens?: Readonly<Record<string, TokenUser>>;
  /** Whether callers without credentials are `system:anonymous` (default) or refused. */
  readonly anonymous?: boolean;
}

export const anonymousCaller: Caller = {
  username: 'system:anonymous',
  uid: '',
  groups: ['system:unauthenticated'],
  extra: {},
};

export const authenticatedGroup = 'system:authenticated';

export class Authentication {
  readonly #users: readonly (readonly [digest: Buffer, user: TokenUser])[];
  readonly #anonymous: boolean;

  constructor(options: AuthenticationOptions) {
    this.#users = Object.entries(options.tokens ?? {}).map(([token, user]) => [digest(token), user]);
    this.#anonymous = options.anonymous ?? true;
  }

  /** Throws Unauthorized for credentials that do not hold, and for none where none is not enough. */
  authenticate(request: RecordedRequest): Caller {
    const { tls } = request.connection;
    if (tls?.clientFingerprint !== undefined) return certificateCaller(tls);
    const [authorization] = request.headerValues('authorization');
    if (authorization !== undefined) return this.#tokenCaller(authorization);
    if (this.#anonymous) return anonymousCaller;
    throw ApiError.unauthorized();
  }

  /** Undefined when nobody has that token. */
  callerOf(token: string): Caller | undefined {
    const given = digest(token);
    const [, user] = this.#users.find(([known]) => timingSafeEqual(known, given)) ?? [];
    return user === undefined ? undefined : authenticated({ uid: '', groups: [], extra: {}, ...user });
  }

  #tokenCaller(authorization: string): Caller {
    const [, token = ''] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
    const caller = this.callerOf(token);
    if (caller === undefined) throw ApiError.unauthorized();
    return caller;
  }
}

function certificateCaller({
  clientAuthorized,
  clientCommonName = '',
  clientOrganizations,
}: RecordedTls): Caller {
  if (!clientAuthorized || clientCommonName === '') throw ApiError.unauthorized();
  return authenticated({ username: clientCommonName, uid: '', groups: clientOrganizations, extra: {} });
}

function authenticated(caller: Caller): Caller {
  return caller.groups.includes(authenticatedGroup)
    ? caller
    : { ...caller, groups: [...caller.groups, authenticatedGroup] };
}

function digest(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
