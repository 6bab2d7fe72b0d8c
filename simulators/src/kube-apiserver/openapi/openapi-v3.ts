/**
 * OpenAPI v3: one document per group and version, made from the definitions that are served. `kubectl explain` reads the types,
 * `kubectl apply` how lists are merged, and validation that the server does the checking.
 */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../json.ts';
import { apiVersionOf } from '../resources/resource-definition.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import type { GroupVersion, ResourceRegistry } from '../resources/resource-registry.ts';
import { register } from './openapi-schema.ts';
import type { Components } from './openapi-schema.ts';

export interface OpenApiDocument {
  /** Of the text; clients cache by it. */
  readonly hash: string;
  readonly text: string;
}

export class OpenApiDocuments {
  readonly #registry: ResourceRegistry;
  readonly #version: string;
  /** By path below `/openapi/v3`; forgotten when other resources are served. */
  readonly #documents = new Map<string, OpenApiDocument>();
  #madeFor = -1;

  constructor(registry: ResourceRegistry, version: string) {
    this.#registry = registry;
    this.#version = version;
  }

  /** Undefined when the path is none of OpenAPI v3's, or of a group version that is not served. */
  at(path: string): OpenApiDocument | undefined {
    if (this.#madeFor !== this.#registry.revision) this.#documents.clear();
    this.#madeFor = this.#registry.revision;
    if (path === '/openapi/v3') return digested(this.#index());
    const [, root] = /^\/openapi\/v3\/(.+)$/.exec(path) ?? [];
    const found = this.#registry.groupVersions().find((each) => rootOf(each) === root);
    return found === undefined ? undefined : this.#document(found);
  }

  #index(): JsonObject {
    const entries = this.#registry.groupVersions().map((each) => {
      const url = `/openapi/v3/${rootOf(each)}?hash=${this.#document(each).hash}`;
      return [rootOf(each), { serverRelativeURL: url }];
    });
    return { paths: Object.fromEntries(entries) };
  }

  #document(groupVersion: GroupVersion): OpenApiDocument {
    const root = rootOf(groupVersion);
    const known = this.#documents.get(root);
    if (known !== undefined) return known;
    const definitions = this.#registry.of(groupVersion);
    const components: Components = new Map();
    for (const definition of definitions) {
      const { group, version, kind } = definition;
      register(schemaName(definition), definition.schema, components, {
        'x-kubernetes-group-version-kind': [{ group, version, kind }],
      });
    }
    const document = digested({
      openapi: '3.0.0',
      info: { title: 'Kubernetes', version: this.#version },
      paths: Object.fromEntries(definitions.flatMap((definition) => pathsOf(definition))),
      components: { schemas: Object.fromEntries([...components].toSorted(byName)) },
    });
    this.#documents.set(root, document);
    return document;
  }
}

function byName([left]: readonly [string, JsonObject], [right]: readonly [string, JsonObject]): number {
  return left < right ? -1 : 1;
}

function digested(value: JsonObject): OpenApiDocument {
  const text = `${JSON.stringify(value)}\n`;
  return { text, hash: createHash('sha512').update(text).digest('hex').toUpperCase() };
}

function rootOf(groupVersion: GroupVersion): string {
  return `${groupVersion.group === '' ? 'api' : 'apis'}/${apiVersionOf(groupVersion)}`;
}

function schemaName({ schema, group, version, kind }: ResourceDefinition): string {
  return schema.name ?? [...group.split('.').toReversed(), version, kind].join('.');
}

function pathsOf(definition: ResourceDefinition): readonly (readonly [path: string, item: JsonObject])[] {
  const { namespaced, resource, verbs } = definition;
  const collection = `/${rootOf(definition)}${namespaced ? '/namespaces/{namespace}' : ''}/${resource}`;
  const operations = operationsOf(definition);
  const paths: [string, JsonObject][] = [
    [collection, pick(operations, { get: verbs.includes('list'), post: verbs.includes('create') })],
  ];
  if (verbs.includes('get')) {
    paths.push([
      `${collection}/{name}`,
      pick(operations, {
        get: true,
        put: verbs.includes('update'),
        patch: verbs.includes('patch'),
        delete: verbs.includes('delete'),
      }),
    ]);
  }
  return paths;
}

function pick(operations: JsonObject, wanted: Readonly<Record<string, boolean>>): JsonObject {
  return Object.fromEntries(Object.entries(operations).filter(([method]) => wanted[method] === true));
}

function operationsOf(definition: ResourceDefinition): JsonObject {
  const { group, version, kind, custom } = definition;
  const schema = { $ref: `#/components/schemas/${schemaName(definition)}` };
  const content = { 'application/json': { schema } };
  const operation = (action: string, more: JsonObject = {}): JsonObject => ({
    ...more,
    'x-kubernetes-action': action,
    'x-kubernetes-group-version-kind': { group, version, kind },
    responses: { 200: { description: 'OK', content } },
  });
  const query = (name: string): JsonObject => ({
    name,
    in: 'query',
    schema: { type: 'string', uniqueItems: true },
  });
  const write = { parameters: ['dryRun', 'fieldManager', 'fieldValidation'].map(query) };
  const patchTypes = [
    'application/apply-patch+yaml',
    'application/json-patch+json',
    'application/merge-patch+json',
    ...(custom ? [] : ['application/strategic-merge-patch+json']),
  ];
  const patches = patchTypes.map((type) => [type, { schema: { type: 'object' } }]);
  return {
    get: operation('get'),
    post: operation('post', { ...write, requestBody: { required: true, content } }),
    put: operation('put', { ...write, requestBody: { required: true, content } }),
    patch: operation('patch', {
      parameters: [...write.parameters, query('force')],
      requestBody: { required: true, content: Object.fromEntries(patches) },
    }),
    delete: operation('delete', { parameters: [query('dryRun')] }),
  };
}
