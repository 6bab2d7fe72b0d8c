/** The errors of this package; codes, texts and HTTP status live here and nowhere else. */

import { RoundhouseError } from '@roundhouse/transport';
import type { CatalogueEntry, ErrorDetails } from '@roundhouse/transport';

export const kubernetesErrors = {
  ERR_RH_KUBECONFIG_INVALID: {
    summary: 'A kubeconfig cannot be read as one.',
    remedy:
      'Correct what the message names; `kubectl --kubeconfig FILE config view` reads by the same rules.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_CONTEXT_UNUSABLE: {
    summary:
      'A context of a kubeconfig cannot be used as it is: something that it refers to is missing or broken.',
    remedy:
      'Correct the cluster or the user that the message names; the other contexts are not touched by it.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_CONTEXT_UNSUPPORTED: {
    summary: 'A context of a kubeconfig asks for something that is not supported.',
    remedy: 'Use a token, a token file, a client certificate or an exec plugin for this context.',
    retry: 'never',
    httpStatus: 503,
  },
  ERR_RH_TOKEN_FILE_UNUSABLE: {
    summary: 'A token file cannot be read, or holds no token.',
    remedy: 'Put the token into it and nothing else; it is followed live, and a last good one stays in use.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_EXEC_PLUGIN_FORBIDDEN: {
    summary: 'A context of a kubeconfig wants a credential plugin to be run that may not be run.',
    remedy: 'Add its command to the allowlist of credential plugins, or use another credential.',
    retry: 'never',
    httpStatus: 503,
  },
  ERR_RH_EXEC_PLUGIN_FAILED: {
    summary: 'A credential plugin could not be run, or did not end well.',
    remedy:
      'Run its command by hand as the user of this program; what it says on stderr is not kept unless it is asked for.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_EXEC_CREDENTIAL_INVALID: {
    summary: 'A credential plugin printed something that is no credential.',
    remedy: 'It must print an ExecCredential of the apiVersion that the kubeconfig names, and nothing else.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_API_REQUEST_INVALID: {
    summary: 'A request to a Kubernetes API names something that no path can name.',
    remedy: 'Give a namespace where the kind has one, and names as the API takes them.',
    retry: 'never',
    httpStatus: 500,
  },
  ERR_RH_API_STATUS: {
    summary: 'A Kubernetes API answered a request with a failure.',
    remedy: 'Look at the status and the reason in the message; 401 and 403 are about who asks.',
    retry: 'after',
    httpStatus: 502,
  },
  ERR_RH_API_ANSWER_INVALID: {
    summary: 'A Kubernetes API answered a request with something that is not what was asked for.',
    remedy: 'Look at what stands between here and the server: something in between may answer in its place.',
    retry: 'after',
    httpStatus: 502,
  },
  ERR_RH_API_ANSWER_TOO_LARGE: {
    summary: 'A Kubernetes API answered a request with more than is taken in.',
    remedy: 'Ask for less at a time: by pages, by a selector, by namespace.',
    retry: 'never',
    httpStatus: 502,
  },
  ERR_RH_WATCH_INVALID: {
    summary:
      'A watch of a Kubernetes API brought something that is no event, or is larger than an event can be.',
    remedy:
      'List anew, since an event may be lost. Look at what stands between here and the server: something in between may cut or change what it sends.',
    retry: 'after',
    httpStatus: 502,
  },
  ERR_RH_INFORMER_FULL: {
    summary: 'There are more objects of a kind than an informer keeps.',
    remedy: 'Raise maxObjects, or choose fewer of them by namespace or by a selector.',
    retry: 'after',
    httpStatus: 500,
  },
  ERR_RH_INFORMER_CLOSED: {
    summary: 'An informer has ended before it knew what there is.',
    remedy: 'The cause says why; where there is none, it was closed while it was waited for.',
    retry: 'never',
    httpStatus: 503,
  },
  ERR_RH_SECRET_UNUSABLE: {
    summary: 'A Secret that a credential or a certificate comes from is not there, or does not have it.',
    remedy:
      'Create or complete the Secret, or allow this program to get, list and watch it; what was good last stays in use.',
    retry: 'after',
    httpStatus: 503,
  },
  ERR_RH_LEASE_INVALID: {
    summary: 'An election of a leader was asked for in a way in which two could lead.',
    remedy:
      'Give each process an identity of its own, and times of which each is longer than the one before: intervalMs, renewLimitMs, leaseMs.',
    retry: 'never',
    httpStatus: 500,
  },
} as const satisfies Record<string, CatalogueEntry>;

export type KubernetesErrorCode = keyof typeof kubernetesErrors;

export class KubernetesError extends RoundhouseError<KubernetesErrorCode> {
  constructor(code: KubernetesErrorCode, message: string, details: ErrorDetails = {}) {
    super(code, kubernetesErrors[code], message, details);
  }
}
