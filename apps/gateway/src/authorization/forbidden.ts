/** The refusal, in the words of the kube-apiserver (k8s.io/apiserver, responsewriters, errors.go), with the cluster. */

import { GatewayError } from '../errors.ts';
import { resourceText } from './action.ts';
import type { Action } from './action.ts';

/**
 * @param cluster as the caller wrote it: whether there is one of that name is not said
 * @param rule that denies; for the log and the audit, not for the caller
 */
export function forbidden(user: string, cluster: string, action: Action, rule?: string): GatewayError {
  const { group, resource, name } = action;
  const qualified = group === '' ? resource : `${resource}.${group}`;
  const what =
    name === '' ? `${qualified} is forbidden` : `${qualified} ${JSON.stringify(name)} is forbidden`;
  const message = `${action.isResource ? what : 'forbidden'}: ${wish(user, action)} on cluster ${JSON.stringify(cluster)}`;
  return new GatewayError('ERR_RH_FORBIDDEN', message, {
    data: {
      statusMessage: message,
      ...(action.isResource && { statusDetails: { name, group, kind: resource } }),
      ...(rule !== undefined && { rule }),
    },
  });
}

/** `User "x" cannot list resource "pods" in API group "" in the namespace "y"` */
function wish(user: string, action: Action): string {
  const cannot = `User ${JSON.stringify(user)} cannot ${action.verb}`;
  if (!action.isResource) {
    return `${cannot} path ${JSON.stringify(action.path)}`;
  }
  const where =
    action.namespace === '' ? 'at the cluster scope' : `in the namespace ${JSON.stringify(action.namespace)}`;
  return `${cannot} resource ${JSON.stringify(resourceText(action))} in API group ${JSON.stringify(action.group)} ${where}`;
}
