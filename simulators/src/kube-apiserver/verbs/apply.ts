/** `PATCH` with an apply patch: server-side apply. */
import { parse as parseYaml } from 'yaml';
import { ApiError } from '../api-error.ts';
import { readBytes } from '../exchange.ts';
import { at, parseJson, textAt } from '../json.ts';
import type { Json } from '../json.ts';
import { nameOf, namespaceOf, parseKubeObject, withMeta } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { apiVersionOf } from '../resources/resource-definition.ts';
import { knownPart } from './field-validation.ts';
import { formObject } from './resource-exchange.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import type { WriteOptions } from './write-options.ts';

export const applyTypes: readonly string[] = ['application/apply-patch+yaml'];

const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';

export async function serveApply(exchange: ResourceExchange, options: WriteOptions): Promise<void> {
  const { cluster, definition, info, reply } = exchange;
  const applied = await readApplied(exchange);
  const { object, created } = cluster.objects.apply(definition, info.namespace, info.name, applied, {
    ...options,
    complete: (merged) => (options.manager === 'kubectl' ? keepLastApplied(merged, applied) : merged),
  });
  await reply.json(created ? 201 : 200, formObject(exchange, object));
}

async function readApplied(exchange: ResourceExchange): Promise<KubeObject> {
  const { definition } = exchange;
  const object = parseKubeObject(parseBody((await readBytes(exchange)).toString()));
  const expected = { apiVersion: apiVersionOf(definition), kind: definition.kind };
  if (object.apiVersion !== expected.apiVersion || object.kind !== expected.kind)
    throw ApiError.badRequest(
      `the API version in the data (${object.apiVersion}) does not match the expected API version (${expected.apiVersion})`,
    );
  if (at(object, 'metadata', 'managedFields') !== undefined)
    throw ApiError.badRequest('metadata.managedFields must be nil');
  const { object: known, unknownFields } = knownPart(object, definition);
  if (unknownFields.length > 0) {
    // As the object says itself, which need not name its namespace.
    const place = `${namespaceOf(object)}/${nameOf(object)}`;
    const version = `${definition.group}/${definition.version}`;
    const complaints = unknownFields.map((path) => `.${path}: field not declared in schema`);
    throw new ApiError(
      500,
      '',
      `failed to create typed patch object (${place}; ${version}, Kind=${expected.kind}): ` +
        (complaints.length === 1
          ? complaints[0]
          : `errors:\n${complaints.map((text) => `  ${text}`).join('\n')}`),
    );
  }
  return placed(exchange, known);
}

function parseBody(text: string): Json {
  try {
    return parseJson(JSON.stringify(parseYaml(text) ?? null));
  } catch (error) {
    throw ApiError.badRequest(
      `error decoding YAML: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

/** The path decides name and namespace. */
function placed({ definition, info }: ResourceExchange, object: KubeObject): KubeObject {
  const name = nameOf(object) || info.name;
  if (name !== info.name)
    throw ApiError.badRequest(
      `the name of the object (${name}) does not match the name on the URL (${info.name})`,
    );
  if (!definition.namespaced) return withMeta(object, { name });
  const namespace = namespaceOf(object) || info.namespace;
  if (namespace !== info.namespace)
    throw ApiError.badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  return withMeta(object, { name, namespace });
}

/** While client-side apply's annotation is there, kubectl keeps it true, so that people can go back to it. */
function keepLastApplied(merged: KubeObject, applied: KubeObject): KubeObject {
  if (textAt(merged, 'metadata', 'annotations', lastApplied) === '') return merged;
  const { [lastApplied]: _, ...annotations } = applied.metadata.annotations ?? {};
  const text = `${JSON.stringify(withMeta(applied, { annotations }))}\n`;
  return withMeta(merged, { annotations: { ...merged.metadata.annotations, [lastApplied]: text } });
}
