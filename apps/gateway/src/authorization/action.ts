/** What a request does to its cluster, as rules speak of it. Read from the route, whose target is what is sent. */

import type { Route } from '../routing/route.ts';

export interface Action {
  /** `get list watch create update patch delete deletecollection impersonate`; the lower-case method off the resources. */
  readonly verb: string;
  readonly isResource: boolean;
  /** Empty for the core group. */
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  /** Empty: in none, or in all of them. */
  readonly namespace: string;
  /** Empty: none, or any. */
  readonly name: string;
  /** Decoded; what rules on nonResourceURLs look at. */
  readonly path: string;
}

/**
 * Whoever may open one of these acts inside a workload, whatever the method is: WebSockets begin with a GET, and to see a
 * pod must not be enough to run a command in it.
 */
export const interactiveSubresources: ReadonlySet<string> = new Set([
  'attach',
  'exec',
  'portforward',
  'proxy',
]);

export function actionOf({ info, target }: Pick<Route, 'info' | 'target'>): Action {
  if (!info.isResource) {
    return { ...noAction, verb: info.verb, path: decodeURIComponent(target.path) };
  }
  // The old form /api/v1/proxy/... of the subresource of that name.
  const subresource = info.verb === 'proxy' ? 'proxy' : info.subresource;
  return {
    verb: interactiveSubresources.has(subresource) ? 'create' : info.verb,
    isResource: true,
    group: info.group,
    resource: info.resource,
    subresource,
    namespace: info.namespace,
    name: info.name,
    path: '',
  };
}

/** To be filled in. */
export const noAction: Action = {
  verb: '',
  isResource: false,
  group: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  path: '',
};

/** As logs and listings name them. */
export function resourceFields({
  group,
  resource,
  subresource,
  namespace,
  name,
}: Action): Record<string, string> {
  return { apiGroup: group, resource, subresource, namespace, name };
}

/** `pods/log` */
export function resourceText({ resource, subresource }: Pick<Action, 'resource' | 'subresource'>): string {
  return subresource === '' ? resource : `${resource}/${subresource}`;
}
