/** What the end of a gRPC call says (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Responses", "Errors"). */

import { constants } from 'node:http2';

/** By their numbers, in the spelling of Go. */
const names = [
  'OK',
  'Canceled',
  'Unknown',
  'InvalidArgument',
  'DeadlineExceeded',
  'NotFound',
  'AlreadyExists',
  'PermissionDenied',
  'ResourceExhausted',
  'FailedPrecondition',
  'Aborted',
  'OutOfRange',
  'Unimplemented',
  'Internal',
  'Unavailable',
  'DataLoss',
  'Unauthenticated',
] as const;

export const grpcCodes = {
  ok: 0,
  cancelled: 1,
  unknown: 2,
  permissionDenied: 7,
  resourceExhausted: 8,
  unimplemented: 12,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

export function grpcCodeName(code: number): string {
  return names[code] ?? 'Unknown';
}

/** Undefined when there is no number. */
export function grpcCodeIn(value: unknown): number | undefined {
  return typeof value === 'string' && /^\d{1,3}$/.test(value) ? Number(value) : undefined;
}

/** `grpc-message` is percent-encoded; what is not is taken as it is. */
export function grpcMessageIn(value: unknown): string {
  const text = typeof value === 'string' ? value : '';
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** For an answer that is not of gRPC ("HTTP to gRPC Status Code Mapping"). */
export function grpcCodeOfHttp(status: number): number {
  switch (status) {
    case 400:
      return grpcCodes.internal;
    case 401:
      return grpcCodes.unauthenticated;
    case 403:
      return grpcCodes.permissionDenied;
    case 404:
      return grpcCodes.unimplemented;
    case 429:
    case 502:
    case 503:
    case 504:
      return grpcCodes.unavailable;
    default:
      return grpcCodes.unknown;
  }
}

/** For a stream that was reset ("HTTP2 Transport Mapping", "Errors"). */
export function grpcCodeOfReset(code: number): number {
  switch (code) {
    case constants.NGHTTP2_REFUSED_STREAM:
      return grpcCodes.unavailable;
    case constants.NGHTTP2_CANCEL:
      return grpcCodes.cancelled;
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return grpcCodes.resourceExhausted;
    case constants.NGHTTP2_INADEQUATE_SECURITY:
      return grpcCodes.permissionDenied;
    default:
      return grpcCodes.internal;
  }
}
