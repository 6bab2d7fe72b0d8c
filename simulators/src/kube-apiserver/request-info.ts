/** What a request is about, read from its path (k8s.io/apiserver/pkg/endpoints/request). */
import { ApiError } from './api-error.ts';
import type { Verb } from './resources/resource-definition.ts';

export interface ResourceRequest {
  readonly verb: Verb;
  readonly group: string;
  readonly version: string;
  /** Empty for cluster-scoped resources, and for all namespaces. */
  readonly namespace: string;
  readonly resource: string;
  readonly name: string;
  readonly subresource: string;
}

/** Undefined for paths that are not of resources. Throws BadRequest for escapes that do not decode. */
export function parseResourceRequest(
  method: string,
  path: string,
  query: URLSearchParams,
): ResourceRequest | undefined {
  const segments = splitPath(path);
  if (segments === undefined) return undefined;
  const [root, ...rest] = segments;
  const [group, version, ...resourcePath] = root === 'api' ? ['', ...rest] : rest;
  if (
    (root !== 'api' && root !== 'apis') ||
    group === undefined ||
    version === undefined ||
    resourcePath.length === 0
  )
    return undefined;
  const located = locate(resourcePath);
  return located === undefined
    ? undefined
    : { verb: verbOf(method, located.name, query), group, version, ...located };
}

type Location = Pick<ResourceRequest, 'namespace' | 'resource' | 'name' | 'subresource'>;

/** `namespaces/<n>/<resource>/…` is in a namespace, unless what follows is a subresource of the namespace itself. */
function locate(segments: readonly string[]): Location | undefined {
  const [first = '', second = '', third, ...more] = segments;
  if (first === 'namespaces' && third !== undefined && third !== 'status' && third !== 'finalize') {
    const [name = '', subresource = '', ...tooMany] = more;
    return tooMany.length > 0 ? undefined : { namespace: second, resource: third, name, subresource };
  }
  return more.length > 0
    ? undefined
    : { namespace: '', resource: first, name: second, subresource: third ?? '' };
}

function splitPath(path: string): readonly string[] | undefined {
  const segments = path.replace(/^\//, '').replace(/\/$/, '').split('/');
  if (segments.includes('')) return undefined;
  try {
    return segments.map((segment) => decodeURIComponent(segment));
  } catch {
    throw ApiError.badRequest('invalid URL escape in the path');
  }
}

function verbOf(method: string, name: string, query: URLSearchParams): Verb {
  switch (method) {
    case 'GET':
    case 'HEAD': {
      const watch = query.get('watch');
      if (watch !== null && watch !== 'false' && watch !== '0') return 'watch';
      return name === '' ? 'list' : 'get';
    }
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return 'patch';
    case 'DELETE':
      return name === '' ? 'deletecollection' : 'delete';
    default:
      throw ApiError.methodNotAllowed();
  }
}
