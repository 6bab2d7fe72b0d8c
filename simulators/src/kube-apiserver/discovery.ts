/** The documents by which clients find out what is served: /api, /apis, /version, health, and the lists of resources. */
import { ApiError } from './api-error.ts';
import { compareGroups, compareVersions } from './discovery-order.ts';
import type { JsonObject } from './json.ts';
import { apiVersionOf } from './resources/resource-definition.ts';
import type { ResourceDefinition } from './resources/resource-definition.ts';
import type { GroupVersion, ResourceRegistry } from './resources/resource-registry.ts';

interface Served {
  readonly registry: ResourceRegistry;
  /** Like `v1.35.2`. */
  readonly version: string;
}

/** Undefined when the path is none of discovery's. */
export function discoveryDocument(
  { registry, version: gitVersion }: Served,
  path: string,
): JsonObject | undefined {
  const trimmed = path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
  if (trimmed === '/') return { paths: rootPaths(registry.groupVersions()) };
  if (trimmed === '/version') return versionInfo(gitVersion);
  if (trimmed === '/api') return apiVersions(registry.groupVersions());
  if (trimmed === '/apis')
    return {
      kind: 'APIGroupList',
      apiVersion: 'v1',
      groups: groupsOf(registry)
        .filter(({ name }) => name !== '')
        .map(apiGroup),
    };
  const [, root, group = '', version] = /^\/(apis?)\/([^/]+)(?:\/([^/]+))?$/.exec(trimmed) ?? [];
  if (root === 'api')
    return version === undefined ? resourceList(registry, { group: '', version: group }) : undefined;
  if (root !== 'apis') return undefined;
  if (version !== undefined) return resourceList(registry, { group, version });
  const found = groupsOf(registry).find(({ name }) => name === group);
  if (found === undefined) throw ApiError.noResource();
  return { kind: 'APIGroup', apiVersion: 'v1', ...apiGroup(found) };
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

/** Groups with their versions, each in the order in which clients prefer them. */
export function groupsOf(
  registry: ResourceRegistry,
): readonly { readonly name: string; readonly versions: readonly string[] }[] {
  const groupVersions = registry.groupVersions();
  const names = [...new Set(groupVersions.map(({ group }) => group))].toSorted(compareGroups);
  return names.map((name) => ({
    name,
    versions: groupVersions
      .filter(({ group }) => group === name)
      .map(({ version }) => version)
      .toSorted(compareVersions),
  }));
}

function apiGroup({ name, versions }: ReturnType<typeof groupsOf>[number]): JsonObject {
  const named = versions.map((version) => ({
    groupVersion: apiVersionOf({ group: name, version }),
    version,
  }));
  return { name, versions: named, preferredVersion: named[0] };
}

/** Throws NotFound for a group and version of which nothing is served. */
export function resourceList(registry: ResourceRegistry, groupVersion: GroupVersion): JsonObject {
  const definitions = registry.of(groupVersion);
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
