/** The documents by which clients find out what is served: /api, /apis, /version, health, and the lists of resources. */
import { ApiError } from './api-error.ts';
import type { ClusterState } from './cluster-state.ts';
import type { JsonObject } from './json.ts';
import { apiVersionOf } from './resources/resource-definition.ts';
import type { ResourceDefinition } from './resources/resource-definition.ts';
import type { GroupVersion } from './resources/resource-registry.ts';

/** Undefined when the path is none of discovery's. */
export function discoveryDocument(cluster: ClusterState, path: string): JsonObject | undefined {
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  const groupVersions = cluster.registry.groupVersions();
  if (trimmed === '/') return { paths: rootPaths(groupVersions) };
  if (trimmed === '/version') return versionInfo(cluster.version);
  if (trimmed === '/api') return apiVersions(groupVersions);
  if (trimmed === '/apis')
    return {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: groupNames(groupVersions).map((name) => apiGroup(name, groupVersions)),
    };
  const [, root, group = '', version] = /^\/(apis?)\/([^/]+)(?:\/([^/]+))?$/.exec(trimmed) ?? [];
  if (root === 'api')
    return version === undefined ? resourceList(cluster, { group: '', version: group }) : undefined;
  if (root !== 'apis') return undefined;
  if (version !== undefined) return resourceList(cluster, { group, version });
  if (!groupNames(groupVersions).includes(group)) throw ApiError.noResource();
  return { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(group, groupVersions) };
}

/** `/livez?verbose` lists what was checked. Undefined when the path is none of health's. */
export function healthText(path: string, query: URLSearchParams): string | undefined {
  const [, name] = /^\/(healthz|livez|readyz)\/?$/.exec(path) ?? [];
  if (name === undefined) return undefined;
  return query.has('verbose') ? `[+]ping ok\n[+]log ok\n[+]etcd ok\n${name} check passed\n` : 'ok';
}

function rootPaths(groupVersions: readonly GroupVersion[]): readonly string[] {
  const named = groupVersions.filter(({ group }) => group !== '');
  const groups = named.flatMap((each) => [`/apis/${each.group}`, `/apis/${apiVersionOf(each)}`]);
  return [
    '/api',
    '/api/v1',
    '/apis',
    ...new Set(groups),
    '/healthz',
    '/livez',
    '/openapi/v2',
    '/openapi/v3',
    '/readyz',
    '/version',
  ];
}

function apiVersions(groupVersions: readonly GroupVersion[]): JsonObject {
  return {
    kind: 'APIVersions',
    versions: groupVersions.filter(({ group }) => group === '').map(({ version }) => version),
    serverAddressByClientCIDRs: [],
  };
}

function groupNames(groupVersions: readonly GroupVersion[]): readonly string[] {
  return [...new Set(groupVersions.map(({ group }) => group))].filter((group) => group !== '');
}

function apiGroup(name: string, groupVersions: readonly GroupVersion[]): JsonObject {
  const versions = groupVersions
    .filter(({ group }) => group === name)
    .toSorted((left, right) => compareVersions(left.version, right.version))
    .map((each) => ({ groupVersion: apiVersionOf(each), version: each.version }));
  return { name, versions, preferredVersion: versions[0] };
}

/** Stable versions first, then beta, then alpha, the newest of each first (k8s.io/apimachinery/pkg/version). */
function compareVersions(left: string, right: string): number {
  const rank = (version: string): readonly number[] => {
    const [, major, level = '', minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
    if (major === undefined) return [0, 0, 0];
    return [level === '' ? 3 : level === 'beta' ? 2 : 1, Number(major), Number(minor)];
  };
  const [ours, theirs] = [rank(left), rank(right)];
  const differing = ours.findIndex((part, index) => part !== theirs[index]);
  if (differing < 0) return left < right ? -1 : 1;
  return (theirs[differing] ?? 0) - (ours[differing] ?? 0);
}

function resourceList(cluster: ClusterState, groupVersion: GroupVersion): JsonObject {
  const definitions = cluster.registry.of(groupVersion);
  if (definitions.length === 0) throw ApiError.noResource();
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: apiVersionOf(groupVersion),
    resources: definitions.flatMap((definition) => [apiResource(definition), ...subresources(definition)]),
  };
}

function apiResource(definition: ResourceDefinition): JsonObject {
  const { resource, singular, namespaced, kind, verbs, shortNames, categories } = definition;
  return {
    name: resource,
    singularName: singular,
    namespaced,
    kind,
    verbs,
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}

function subresources(definition: ResourceDefinition): readonly JsonObject[] {
  const { resource, namespaced, kind } = definition;
  const status = {
    name: `${resource}/status`,
    singularName: '',
    namespaced,
    kind,
    verbs: ['get', 'patch', 'update'],
  };
  const log = { name: `${resource}/log`, singularName: '', namespaced, kind, verbs: ['get'] };
  const streams = (
    [
      ['attach', 'PodAttachOptions'],
      ['exec', 'PodExecOptions'],
      ['portforward', 'PodPortForwardOptions'],
    ] as const
  ).map(([name, options]) => ({
    name: `${resource}/${name}`,
    singularName: '',
    namespaced,
    kind: options,
    verbs: ['create', 'get'],
  }));
  const scale = {
    name: `${resource}/scale`,
    singularName: '',
    namespaced,
    group: 'autoscaling',
    version: 'v1',
    kind: 'Scale',
    verbs: ['get', 'patch', 'update'],
  };
  return [
    ...(kind === 'Pod' ? [log, ...streams] : []),
    ...(definition.scale === undefined ? [] : [scale]),
    ...(definition.hasStatus ? [status] : []),
  ];
}

function versionInfo(version: string): JsonObject {
  const [, major = '1', minor = '0'] = /^v(\d+)\.(\d+)/.exec(version) ?? [];
  return {
    major,
    minor,
    gitVersion: version,
    gitCommit: '0000000000000000000000000000000000000000',
    gitTreeState: 'clean',
    buildDate: '2026-01-01T00:00:00Z',
    goVersion: 'none',
    compiler: 'none',
    platform: 'linux/amd64',
  };
}
