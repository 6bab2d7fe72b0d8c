/**
 * OpenAPI v3, as much as kubectl needs to trust the server with validation: paths, and the `fieldValidation` parameter on writes.
 * Types are not described here; without them kubectl falls back on the ones that it was built with.
 */
import { createHash } from 'node:crypto';
import type { ClusterState } from './cluster-state.ts';
import type { JsonObject } from './json.ts';
import { apiVersionOf } from './resources/resource-definition.ts';
import type { ResourceDefinition } from './resources/resource-definition.ts';
import type { GroupVersion } from './resources/resource-registry.ts';

/** Undefined when the path is none of OpenAPI's, or of a group version that is not served. */
export function openApiDocument(cluster: ClusterState, path: string): JsonObject | undefined {
  if (path === '/openapi/v3')
    return {
      paths: Object.fromEntries(cluster.registry.groupVersions().map((each) => indexEntry(cluster, each))),
    };
  const found = cluster.registry.groupVersions().find((each) => path === `/openapi/v3/${rootOf(each)}`);
  return found === undefined ? undefined : groupVersionDocument(cluster, found);
}

function rootOf(groupVersion: GroupVersion): string {
  return `${groupVersion.group === '' ? 'api' : 'apis'}/${apiVersionOf(groupVersion)}`;
}

export const openApiV2Protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/**
 * The same in OpenAPI v2, without a path: kubectl validates a `List` and has nothing to say of kinds that are not described. It
 * reads protobuf only (gnostic's openapi_v2.Document: field 1 is the version, field 2 the info with title and version).
 */
export function openApiV2Document(cluster: ClusterState): {
  readonly json: JsonObject;
  readonly protobuf: Uint8Array;
} {
  const info = { title: 'Kubernetes', version: cluster.version };
  return {
    json: { swagger: '2.0', info, paths: {}, definitions: {} },
    protobuf: Buffer.concat([
      textField(1, '2.0'),
      textField(2, Buffer.concat([textField(1, info.title), textField(2, info.version)])),
    ]),
  };
}

/** Length-delimited, below 128 bytes. */
function textField(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
}

/** Clients cache by the hash in the URL. */
function indexEntry(cluster: ClusterState, groupVersion: GroupVersion): [path: string, entry: JsonObject] {
  const hash = createHash('sha256')
    .update(JSON.stringify(groupVersionDocument(cluster, groupVersion)))
    .digest('hex')
    .toUpperCase();
  return [rootOf(groupVersion), { serverRelativeURL: `/openapi/v3/${rootOf(groupVersion)}?hash=${hash}` }];
}

function groupVersionDocument(cluster: ClusterState, groupVersion: GroupVersion): JsonObject {
  const definitions = cluster.registry
    .of(groupVersion)
    .filter((definition) => definition.verbs.includes('patch'));
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes', version: cluster.version },
    paths: Object.fromEntries(definitions.flatMap((definition) => pathsOf(definition))),
    components: { schemas: {} },
  };
}

function pathsOf(definition: ResourceDefinition): readonly (readonly [path: string, item: JsonObject])[] {
  const { group, version, kind, resource, namespaced } = definition;
  const collection = `/${rootOf(definition)}${namespaced ? '/namespaces/{namespace}' : ''}/${resource}`;
  const operation = (action: string): JsonObject => ({
    parameters: [{ name: 'fieldValidation', in: 'query', schema: { type: 'string', uniqueItems: true } }],
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, version, kind },
    responses: { 200: { description: 'OK' } },
  });
  return [
    [collection, { post: operation('post') }],
    [`${collection}/{name}`, { put: operation('put'), patch: operation('patch') }],
  ];
}
