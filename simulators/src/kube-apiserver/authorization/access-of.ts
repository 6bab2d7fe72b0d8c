/** What a request is to an authorizer (k8s.io/apiserver/pkg/endpoints/request/requestinfo.go). */
import type { Caller } from '../authentication.ts';
import type { ResourceRequest } from '../request-info.ts';
import { selectedName } from '../selectors/field-selector.ts';
import type { ResourceAccess } from './authorizer.ts';

/**
 * A namespace is in itself, so that a role in it may speak of it. A list or a watch of the one object that a field selector names
 * is an access to that object, which is how `kubectl get NAME --watch` asks.
 */
export function accessOf(caller: Caller, info: ResourceRequest, query: URLSearchParams): ResourceAccess {
  const { verb, resource, namespace, name } = info;
  const selected = name === '' && (verb === 'list' || verb === 'watch');
  return {
    caller,
    ...info,
    namespace: resource === 'namespaces' && namespace === '' ? name : namespace,
    name: selected ? selectedName(query.get('fieldSelector') ?? '') : name,
  };
}
