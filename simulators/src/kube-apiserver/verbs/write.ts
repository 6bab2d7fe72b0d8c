/** create, update and patch, on objects and on their status. */
import { ApiError } from '../api-error.ts';
import { contentType, readBody } from '../exchange.ts';
import { isJsonObject } from '../json.ts';
import type { Json } from '../json.ts';
import { nameOf, namespaceOf, parseKubeObject, withMeta } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import type { MergeSchema } from '../patch/merge-schema.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge-patch.ts';
import { apiVersionOf } from '../resources/resource-definition.ts';
import type { Asking } from '../resources/resource-definition.ts';
import { applyTypes, serveApply } from './apply.ts';
import { decodeKnown } from './field-validation.ts';
import { formObject } from './resource-exchange.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import { readWriteOptions } from './write-options.ts';
import type { FieldValidation } from './write-options.ts';

const jsonPatch = 'application/json-patch+json';
const mergePatch = 'application/merge-patch+json';
const strategicMergePatch = 'application/strategic-merge-patch+json';

export async function serveCreate(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, reply } = exchange;
  const options = readWriteOptions(exchange);
  const object = inNamespace(exchange, await readObject(exchange, options.fieldValidation));
  const created =
    definition.answer === undefined
      ? cluster.objects.create(definition, object, options)
      : definition.answer(object, asking(exchange));
  await reply.json(201, formObject(exchange, created));
}

function asking({ caller, cluster, info }: ResourceExchange): Asking {
  const { authentication, authorizer } = cluster;
  return {
    caller,
    namespace: info.namespace,
    authorizer,
    callerOf: (token) => authentication.callerOf(token),
  };
}

export async function serveUpdate(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, info, reply } = exchange;
  const options = readWriteOptions(exchange);
  const object = inNamespace(exchange, await readObject(exchange, options.fieldValidation));
  if (
    definition.createdByUpdate &&
    cluster.objects.find(definition, info.namespace, info.name) === undefined
  ) {
    const created = cluster.objects.create(definition, withMeta(object, { resourceVersion: '' }), options);
    return reply.json(201, formObject(exchange, created));
  }
  const updated = cluster.objects.change(
    definition,
    info.namespace,
    info.name,
    (current) => {
      if (definition.versionedUpdates && (object.metadata.resourceVersion ?? '') === '')
        throw unversioned(exchange, current);
      return object;
    },
    options,
  );
  await reply.json(200, formObject(exchange, updated));
}

/** It names the resource where others name the kind, as the real server does here. */
function unversioned({ definition: { group, resource } }: ResourceExchange, current: KubeObject): ApiError {
  const why = 'Invalid value: 0: must be specified for an update';
  return ApiError.invalid({ group, resource, kind: resource }, nameOf(current), [
    { reason: 'FieldValueInvalid', message: why, field: 'metadata.resourceVersion' },
  ]);
}

export async function servePatch(exchange: ResourceExchange): Promise<void> {
  const { cluster, definition, info, reply } = exchange;
  const type = contentType(exchange);
  const applies = applyTypes.includes(type);
  const options = readWriteOptions(exchange, applies);
  if (applies) return serveApply(exchange, options);
  const apply = patcher(type, definition.mergeSchema);
  const patch = await readBody(exchange, [type]);
  if (patch === undefined) throw ApiError.badRequest('the patch is empty');
  const patched = cluster.objects.change(
    definition,
    info.namespace,
    info.name,
    (current) => {
      const next = parseKubeObject(apply(current, patch));
      checkUid(exchange, current, next);
      return decodeKnown(exchange, next, options.fieldValidation, badPatch(patch));
    },
    options,
  );
  await reply.json(200, formObject(exchange, patched));
}

/** For an update it would be a condition, and a conflict; a patch has no conditions, only fields that do not change. */
function checkUid({ definition }: ResourceExchange, current: KubeObject, { metadata }: KubeObject): void {
  if (metadata.uid === undefined || metadata.uid === current.metadata.uid) return;
  const cause = {
    reason: 'FieldValueInvalid',
    message: `Invalid value: ${JSON.stringify(metadata.uid)}: field is immutable`,
    field: 'metadata.uid',
  };
  // Twice, as the real server says it.
  throw ApiError.invalid(definition, nameOf(current), [cause, cause]);
}

export function patcher(
  type: string,
  schema: MergeSchema | undefined,
): (current: KubeObject, patch: Json) => Json {
  if (type === jsonPatch) return applyJsonPatch;
  if (type === mergePatch) return applyMergePatch;
  if (schema === undefined) throw ApiError.unsupportedMediaType([jsonPatch, mergePatch, ...applyTypes]);
  if (type !== strategicMergePatch) throw ApiError.unsupportedPatch();
  return (current, patch) => {
    if (!isJsonObject(patch)) throw ApiError.badRequest('a strategic merge patch must be a JSON object');
    return applyStrategicMergePatch(current, patch, schema);
  };
}

function badPatch(patch: Json): (why: string) => ApiError {
  return (why) => {
    const message = `Invalid value: ${JSON.stringify(JSON.stringify(patch))}: ${why}`;
    return new ApiError(422, 'Invalid', ` "" is invalid: patch: ${message}`, {
      causes: [{ reason: 'FieldValueInvalid', message, field: 'patch' }],
    });
  };
}

async function readObject(exchange: ResourceExchange, validation: FieldValidation): Promise<KubeObject> {
  const { definition } = exchange;
  const expected = { apiVersion: apiVersionOf(definition), kind: definition.kind };
  const object = parseKubeObject(await readBody(exchange), expected);
  const refused = (why: string): ApiError => {
    const given = `${object.kind} in version "${object.apiVersion.split('/').at(-1)}"`;
    return ApiError.badRequest(`${given} cannot be handled as a ${definition.kind}${why}`);
  };
  if (object.kind !== expected.kind || object.apiVersion !== expected.apiVersion) throw refused('');
  try {
    return decodeKnown(exchange, object, validation, (why) => refused(`: ${why}`));
  } catch (error) {
    // The decoder's words on a value of the wrong type.
    if (error instanceof ApiError && error.message.startsWith('json: ')) throw refused(`: ${error.message}`);
    throw error;
  }
}

/** The path decides the namespace; a body may repeat it and not contradict it. */
function inNamespace({ definition, info }: ResourceExchange, object: KubeObject): KubeObject {
  if (!definition.namespaced) return object;
  const given = namespaceOf(object);
  if (given !== '' && given !== info.namespace) {
    throw ApiError.badRequest(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  }
  return withMeta(object, {
    namespace: info.namespace,
    ...(nameOf(object) === '' && info.name !== '' ? { name: info.name } : {}),
  });
}
