/**
 * Aggregated discovery: everything that is served in two documents, `/api` and `/apis`, for clients that ask for it by Accept. With
 * it kubectl needs two requests where it had one for each group and version, and none of them anew while nothing changes.
 */
import { createHash } from 'node:crypto';
import { groupsOf, resourceList } from './discovery.ts';
import { at, listAt, textAt } from './json.ts';
import type { Json, JsonObject } from './json.ts';
import type { GroupVersion, ResourceRegistry } from './resources/resource-registry.ts';

export const aggregatedVersions = ['v2', 'v2beta1'] as const;
export type AggregatedVersion = (typeof aggregatedVersions)[number];

const group = 'apidiscovery.k8s.io';
const kind = 'APIGroupDiscoveryList';

export interface DiscoveryDocument {
  readonly contentType: string;
  readonly text: string;
  /** The same for all versions: of what they say, not of how. */
  readonly hash: string;
}

interface Groups {
  readonly items: readonly JsonObject[];
  readonly hash: string;
}

export class AggregatedDiscovery {
  readonly #registry: ResourceRegistry;
  /** By path; forgotten when other resources are served. */
  readonly #groups = new Map<string, Groups>();
  #madeFor = -1;

  constructor(registry: ResourceRegistry) {
    this.#registry = registry;
  }

  /** Undefined when the path is none of the two. */
  at(path: string, version: AggregatedVersion): DiscoveryDocument | undefined {
    if (path !== '/api' && path !== '/apis') return undefined;
    const { items, hash } = this.#groupsAt(path);
    const document = { kind, apiVersion: `${group}/${version}`, metadata: {}, items };
    return {
      contentType: `application/json;g=${group};v=${version};as=${kind}`,
      text: `${JSON.stringify(document)}\n`,
      hash,
    };
  }

  #groupsAt(path: string): Groups {
    if (this.#madeFor !== this.#registry.revision) this.#groups.clear();
    this.#madeFor = this.#registry.revision;
    const known = this.#groups.get(path);
    if (known !== undefined) return known;
    const items = groupsOf(this.#registry)
      .filter(({ name }) => (name === '') === (path === '/api'))
      .map(({ name, versions }) => ({
        metadata: name === '' ? {} : { name },
        versions: versions.map((version) => this.#version({ group: name, version })),
      }));
    const hash = createHash('sha512').update(JSON.stringify(items)).digest('hex').toUpperCase();
    const made = { items, hash };
    this.#groups.set(path, made);
    return made;
  }

  #version(groupVersion: GroupVersion): JsonObject {
    const listed = listAt(resourceList(this.#registry, groupVersion), 'resources');
    const resources = listed.filter((resource) => !textAt(resource, 'name').includes('/'));
    return {
      version: groupVersion.version,
      resources: resources.map((resource) => ({
        resource: at(resource, 'name'),
        responseKind: responseKind(resource, groupVersion),
        scope: at(resource, 'namespaced') === true ? 'Namespaced' : 'Cluster',
        singularResource: at(resource, 'singularName'),
        verbs: at(resource, 'verbs'),
        ...given(resource, 'shortNames'),
        ...given(resource, 'categories'),
        ...subresources(listed, textAt(resource, 'name'), groupVersion),
      })),
      freshness: 'Current',
    };
  }
}

function subresources(listed: readonly Json[], resource: string, groupVersion: GroupVersion): JsonObject {
  const prefix = `${resource}/`;
  const own = listed.filter((entry) => textAt(entry, 'name').startsWith(prefix));
  if (own.length === 0) return {};
  return {
    subresources: own.map((entry) => ({
      subresource: textAt(entry, 'name').slice(prefix.length),
      responseKind: responseKind(entry, groupVersion),
      verbs: at(entry, 'verbs'),
    })),
  };
}

/** Some subresources answer with a kind of another group. */
function responseKind(entry: Json, own: GroupVersion): JsonObject {
  const { group: named, version } = { group: at(entry, 'group'), version: at(entry, 'version') };
  return {
    group: named ?? own.group,
    version: version ?? own.version,
    kind: at(entry, 'kind'),
  };
}

function given(entry: Json, field: string): JsonObject {
  const value = at(entry, field);
  return value === undefined ? {} : { [field]: value };
}
