/**
 * What a request does to a cluster: verb, group, resource, name. The same reading as in the kube-apiserver
 * (k8s.io/apiserver, pkg/endpoints/request/requestinfo.go), on the raw path; what that one would read after decoding into
 * something else is refused.
 */

import { isTrueParameter, onlyParameter } from './query-parameters.ts';
import { ambiguous, decodeSegment } from './request-target.ts';
import type { RequestTarget } from './request-target.ts';

export interface RequestInfo {
  /** `get list watch create update patch delete deletecollection`, or the lower-case method for what is no resource. */
  readonly verb: string;
  readonly isResource: boolean;
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Ends when somebody wants it to, not by itself: it has a budget of its own and no time limit. */
  readonly longRunning: boolean;
}

/** @param path behind the prefix that names the cluster, still encoded */
export function parseRequestInfo(method: string, { path, query }: RequestTarget): RequestInfo {
  const raw = splitPath(path);
  const opaqueFrom = opaqueStart(raw.map(decodeWhereAllowed));
  const segments = raw.slice(0, opaqueFrom).map(decodeStrictly);
  const api = apiOf(segments);
  if (api === undefined) {
    return { ...nothing, verb: method.toLowerCase() };
  }
  const { prefixVerb, namespace, parts } = partsOf(segments.slice(api.length));
  const [resource = '', name = '', third = ''] = parts;
  const subresource = prefixVerb === 'proxy' ? '' : third;
  const verb = prefixVerb ?? verbOf(method, name, query);
  const selectsOne = prefixVerb === undefined && name === '' && (verb === 'list' || verb === 'watch');
  return {
    verb,
    isResource: true,
    group: api.group,
    version: api.version,
    resource,
    subresource,
    namespace,
    name: selectsOne ? selectedName(query) : name,
    longRunning: verb === 'watch' || verb === 'proxy' || longRunningSubresources.has(subresource),
  };
}

const nothing: RequestInfo = {
  verb: '',
  isResource: false,
  group: '',
  version: '',
  resource: '',
  subresource: '',
  namespace: '',
  name: '',
  longRunning: false,
};

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

const namespaceSubresources: ReadonlySet<string> = new Set(['status', 'finalize']);

/** As the kube-apiserver has them (`longRunningRequestCheck`): a log that is not followed may be gigabytes. */
const longRunningSubresources: ReadonlySet<string> = new Set([
  'attach',
  'exec',
  'log',
  'portforward',
  'proxy',
]);

function verbOf(method: string, name: string, query: string): string {
  const verb = verbs[method] ?? '';
  if (name !== '') {
    return verb;
  }
  if (verb === 'get') {
    return isTrueParameter(query, 'watch') ? 'watch' : 'list';
  }
  return verb === 'delete' ? 'deletecollection' : verb;
}

/**
 * The one object that a list or a watch is limited to by its field selector; `kubectl get NAME --watch` asks so. The same as
 * in the kube-apiserver, for selectors of plain terms; any other one may select anything.
 */
function selectedName(query: string): string {
  const selector = query === '' ? undefined : onlyParameter(query, 'fieldSelector');
  if (
    selector === undefined ||
    !/^(?:[\w.]+={1,2}[\w.:-]+(?:,|$))+$/.test(selector) ||
    selector.endsWith(',')
  ) {
    return '';
  }
  const names = selector.split(',').flatMap((term) => /^metadata\.name={1,2}(.+)$/.exec(term)?.[1] ?? []);
  return names.length === 1 && names[0] !== '.' && names[0] !== '..' ? (names[0] ?? '') : '';
}

/** Group and version, and how many segments they take; undefined when the path names no resource. */
function apiOf(segments: readonly string[]): { group: string; version: string; length: number } | undefined {
  const [root, second = '', third = ''] = segments;
  if (root === 'api' && segments.length >= 3) {
    return { group: '', version: second, length: 2 };
  }
  if (root === 'apis' && segments.length >= 4) {
    return { group: second, version: third, length: 3 };
  }
  return undefined;
}

interface Parts {
  /** The old form, /api/v1/watch/pods. It was replaced by ?watch=1 long ago and is still served. */
  readonly prefixVerb: 'watch' | 'proxy' | undefined;
  readonly namespace: string;
  /** Resource, name, subresource, and what is behind. */
  readonly parts: readonly string[];
}

/** @param segments behind group and version */
function partsOf(segments: readonly string[]): Parts {
  const [first] = segments;
  const prefixVerb = first === 'watch' || first === 'proxy' ? first : undefined;
  const rest = prefixVerb === undefined ? segments : segments.slice(1);
  if (rest[0] !== 'namespaces' || rest.length < 2) {
    return { prefixVerb, namespace: '', parts: rest };
  }
  const namespace = rest[1] ?? '';
  const ofNamespaceItself = rest.length === 2 || namespaceSubresources.has(rest[2] ?? '');
  return { prefixVerb, namespace, parts: ofNamespaceItself ? rest : rest.slice(2) };
}

/** Without the slash in front and those behind: `/api/v1/pods/` names what `/api/v1/pods` names. */
function splitPath(path: string): string[] {
  let end = path.length;
  while (end > 0 && path[end - 1] === '/') {
    end -= 1;
  }
  const trimmed = path.slice(path.startsWith('/') ? 1 : 0, end);
  return trimmed === '' ? [] : trimmed.split('/');
}

/**
 * Where the path begins that means something to what is proxied to, and nothing here: it is kept as it came, whatever is in
 * it. The length of the path when there is no such part.
 */
function opaqueStart(segments: readonly string[]): number {
  const api = apiOf(segments);
  if (api === undefined) {
    return segments.length;
  }
  const { prefixVerb, parts } = partsOf(segments.slice(api.length));
  const before = segments.length - parts.length;
  if (prefixVerb === 'proxy') {
    return before + 2;
  }
  return parts[2] === 'proxy' ? before + 3 : segments.length;
}

/** Only to find out where to be strict. */
function decodeWhereAllowed(segment: string): string {
  return !segment.includes('%') || /%(?:2[fF])/.test(segment) ? segment : decodeLeniently(segment);
}

function decodeLeniently(segment: string): string {
  try {
    return decodeSegment(segment);
  } catch {
    // In the part that is kept as it came it need not be UTF-8; in the other one it is refused below.
    return segment;
  }
}

/**
 * The kube-apiserver decodes the path before it splits it, others split first: an encoded slash is one segment or two. So
 * is an empty one.
 */
function decodeStrictly(segment: string): string {
  if (segment === '') {
    throw ambiguous('the path has an empty segment');
  }
  if (segment.includes('%') && /%2[fF]/.test(segment)) {
    throw ambiguous('the path has an encoded slash in the part that names a resource');
  }
  return decodeSegment(segment);
}
