/** From the target to the cluster that is meant and to what is asked of it. Both ways of addressing a cluster end here. */

import { GatewayError } from '../errors.ts';
import { parseRequestInfo } from './request-info.ts';
import type { RequestInfo } from './request-info.ts';
import { decodeSegment, parseRequestTarget } from './request-target.ts';
import type { RequestTarget } from './request-target.ts';

export interface Route {
  /** As it stands in the path, decoded; whether there is such a cluster is not known here. */
  readonly clusterName: string;
  /** What is asked of the cluster, byte for byte as it came behind the prefix. */
  readonly target: RequestTarget;
  readonly info: RequestInfo;
}

/**
 * The name is one segment, the rest begins with a slash. A context name may have slashes in it (OpenShift's do), so in
 * this one segment an encoded slash is allowed: it can only mean a part of the name.
 */
const prefixes = [
  /^\/clusters\/([^/]+)(?=\/|$)/,
  /^\/apis\/gateway\.open-cluster-management\.io\/v1alpha1\/clustergateways\/([^/]+)\/proxy(?=\/|$)/,
];

/** @throws ERR_RH_PATH_AMBIGUOUS, ERR_RH_METHOD_UNSUPPORTED, ERR_RH_NOT_SERVED */
export function findRoute(method: string, rawTarget: string): Route {
  if (method === 'CONNECT' || method === 'TRACE') {
    throw new GatewayError('ERR_RH_METHOD_UNSUPPORTED', `${method} is not forwarded`);
  }
  const { path, query } = parseRequestTarget(rawTarget);
  for (const prefix of prefixes) {
    const match = prefix.exec(path);
    if (match !== null) {
      const rest = path.slice(match[0].length);
      // `/clusters/alpha` asks for the root, for which HTTP has one spelling only.
      const target = { path: rest === '' ? '/' : rest, query };
      return {
        clusterName: decodeSegment(match[1] ?? ''),
        target,
        info: parseRequestInfo(method, target),
      };
    }
  }
  throw new GatewayError(
    'ERR_RH_NOT_SERVED',
    'nothing is served at this path; clusters are at /clusters/NAME/',
  );
}
