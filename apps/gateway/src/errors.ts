/** The errors of the gateway. A request that fails is answered with the code's HTTP status and a Kubernetes `Status`. */

import { RoundhouseError } from '@roundhouse/transport';
import type { CatalogueEntry, ErrorDetails } from '@roundhouse/transport';

export const gatewayErrors = {
  ERR_RH_UNAUTHENTICATED: {
    summary: 'The caller did not prove who they are.',
    remedy:
      'Send a client certificate of the configured CA, a bearer token of the token file, or a token of the OIDC issuer; the message says what is wrong with one that was sent.',
    retry: 'never',
    httpStatus: 401,
  },
  ERR_RH_ISSUER_UNREACHABLE: {
    summary: 'Tokens of the OIDC issuer cannot be verified: its keys have not been read.',
    remedy: 'Look at the log and at /readyz for the reason; it is tried again every 30 s at the latest.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_FORBIDDEN: {
    summary: 'No rule of the authorisation file allows the caller to do this, or one denies it.',
    remedy: '`roundhouse auth can-i` explains the decision and names the rule; the file is followed live.',
    retry: 'never',
    httpStatus: 403,
  },
  ERR_RH_FOREIGN_PAGE: {
    summary: 'A request came to the loopback listener that may come from a web page.',
    remedy: 'Address the gateway as localhost, 127.0.0.1 or [::1]; pages of other sites are turned away.',
    retry: 'never',
    httpStatus: 403,
  },
  ERR_RH_IDENTITY_FIELD_REFUSED: {
    summary: 'The request brings identity fields of its own (Impersonate-*).',
    remedy:
      'Leave them out (kubectl: --as, --as-group, --as-uid), or give the caller the verb impersonate in the authorisation file.',
    retry: 'never',
    httpStatus: 403,
  },
  ERR_RH_REQUEST_MALFORMED: {
    summary: 'The request is not valid HTTP, or could be read in two ways.',
    remedy: 'Send one Host, one Authorization, and a Connection field that names hop-by-hop fields only.',
    retry: 'never',
    httpStatus: 400,
  },
  ERR_RH_PATH_AMBIGUOUS: {
    summary: 'The request target could mean two things, or cannot be decoded.',
    remedy: 'Send a path without dot segments, empty segments, backslashes and encoded slashes.',
    retry: 'never',
    httpStatus: 400,
  },
  ERR_RH_REQUEST_TIMEOUT_HEAD: {
    summary: 'The head of the request did not come within its time limit.',
    remedy: 'Send the whole head at once, or raise headTimeoutMs.',
    retry: 'safe',
    httpStatus: 408,
  },
  ERR_RH_HEAD_TOO_LARGE: {
    summary: 'The head of the request is larger than allowed.',
    remedy: 'Send fewer or shorter header fields, or raise maxHeadBytes.',
    retry: 'never',
    httpStatus: 431,
  },
  ERR_RH_METHOD_UNSUPPORTED: {
    summary: 'The method is not forwarded (CONNECT, TRACE).',
    remedy: 'Use a method of the Kubernetes API.',
    retry: 'never',
    httpStatus: 405,
  },
  ERR_RH_NOT_SERVED: {
    summary: 'Nothing is served at this path.',
    remedy: 'Use /clusters/NAME/... or the ClusterGateway path; `roundhouse clusters` lists the names.',
    retry: 'never',
    httpStatus: 404,
  },
  ERR_RH_CLUSTER_UNKNOWN: {
    summary: 'There is no cluster of that name.',
    remedy:
      '`roundhouse clusters` lists the names; a new context in a kubeconfig is served as soon as it is read.',
    retry: 'never',
    httpStatus: 404,
  },
  ERR_RH_CLUSTER_REFUSED: {
    summary: 'The cluster is known, but its configuration cannot be used.',
    remedy: '`roundhouse clusters` shows why; correct the context in its kubeconfig.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_UPGRADE_REFUSED: {
    summary: 'The cluster neither switched to the protocol that was asked for nor gave a reason.',
    remedy:
      'Look at what stands between the gateway and the cluster: it must let exec, attach and port-forward through.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_SESSION_STALLED: {
    summary:
      'One side of an upgraded session (exec, attach, port-forward) took nothing, or said nothing, for too long.',
    remedy: 'Open it anew; a network that was lost without a sign is the usual reason.',
    retry: 'after',
    httpStatus: 504,
  },
  ERR_RH_SESSION_BROKEN: {
    summary: 'The cluster broke an upgraded session off.',
    remedy: 'Open it anew; the log of the kubelet says more.',
    retry: 'after',
    httpStatus: 502,
  },
  ERR_RH_SESSION_REVOKED: {
    summary:
      'An upgraded session was ended, since its caller is not known any more or may not do this any more.',
    remedy: 'Ask those who run the gateway: a token, a client CA or a rule was taken away.',
    retry: 'never',
    httpStatus: 403,
  },
  ERR_RH_SESSION_KILLED: {
    summary: 'An upgraded session was ended by an operator of the gateway.',
    remedy: 'Ask those who run the gateway.',
    retry: 'never',
    httpStatus: 503,
  },
  ERR_RH_SESSION_UNKNOWN: {
    summary: 'No upgraded session of that id is open.',
    remedy: '`roundhouse sessions` lists those that are; it may have ended by itself.',
    retry: 'never',
    httpStatus: 404,
  },
  ERR_RH_UPSTREAM_REDIRECT: {
    summary: 'The cluster answered with a redirect, which is neither followed nor passed on.',
    remedy: 'Correct the server address in the kubeconfig: a Kubernetes API does not redirect.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_UPSTREAM_CREDENTIAL_REFUSED: {
    summary: "The cluster does not accept the gateway's own credential.",
    remedy: 'Renew the credential in the kubeconfig of the gateway; the caller can do nothing about it.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_CREDENTIAL_UNAVAILABLE: {
    summary: 'The gateway has no credential of its own for the cluster: the credential plugin gives none.',
    remedy:
      '`roundhouse clusters` and the log show why the plugin fails; it is tried again within a minute at the latest.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_CLIENT_STALLED: {
    summary: 'The client did not take what was sent to it for too long.',
    remedy: 'Read faster, or raise clientStallTimeoutMs.',
    retry: 'after',
    httpStatus: 499,
  },
  ERR_RH_CLIENT_GONE: {
    summary: 'The client went away before the answer was complete.',
    remedy: 'Nothing to do.',
    retry: 'never',
    httpStatus: 499,
  },
  ERR_RH_UPLOAD_SILENT: {
    summary: 'The client sent nothing of its request body for too long.',
    remedy: 'Send the body without long breaks, or raise uploadSilenceMs.',
    retry: 'never',
    httpStatus: 408,
  },
  ERR_RH_UPLOAD_STALLED: {
    summary: 'The cluster took nothing of the request body for too long.',
    remedy: 'Look at what is asked in the cluster, or raise uploadSilenceMs.',
    retry: 'never',
    httpStatus: 504,
  },
  ERR_RH_AUDIT_UNAVAILABLE: {
    summary: 'The audit log cannot be written, and requests without a line in it are not wanted.',
    remedy: 'Make room for it or correct its path; requests are served again as soon as a line is written.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_SHUTTING_DOWN: {
    summary: 'The gateway is shutting down.',
    remedy: 'Send the request again: another replica or the next start serves it.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_INTERNAL: {
    summary: 'The gateway met something that it was not written for.',
    remedy: 'Report it with the request id; the log has the details.',
    retry: 'never',
    httpStatus: 500,
  },
} as const satisfies Record<string, CatalogueEntry>;

export type GatewayErrorCode = keyof typeof gatewayErrors;

export class GatewayError extends RoundhouseError<GatewayErrorCode> {
  constructor(code: GatewayErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, gatewayErrors[code], message, details);
  }
}
