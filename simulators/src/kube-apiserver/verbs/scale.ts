/** `/scale`: the number of replicas of any kind that has one, in the one shape that `kubectl scale` and autoscalers know. */
import { ApiError } from '../api-error.ts';
import { contentType, readBody } from '../exchange.ts';
import { at, isJsonObject, numberAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { nameOf, parseKubeObject, withMeta } from '../kube-object.ts';
import type { KubeObject, ObjectMeta } from '../kube-object.ts';
import { setOwn } from '../patch/merge-patch.ts';
import type { ScalePaths } from '../resources/resource-definition.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import { readWriteOptions } from './write-options.ts';
import { patcher } from './write.ts';

const scaleType = { apiVersion: 'autoscaling/v1', kind: 'Scale' } as const;

/** The Scale itself has no lists that are merged. */
const scaleSchema = {};

export async function serveScale(exchange: ResourceExchange, paths: ScalePaths): Promise<void> {
  const { cluster, definition, info, reply } = exchange;
  switch (info.verb) {
    case 'get': {
      const object = cluster.objects.get(definition, info.namespace, info.name);
      return reply.json(200, toScale(object, paths));
    }
    case 'update': {
      const scale = parseKubeObject(await readBody(exchange), scaleType);
      return change(exchange, paths, () => scale);
    }
    case 'patch': {
      const apply = patcher(contentType(exchange), scaleSchema);
      const patch = await readBody(exchange, [contentType(exchange)]);
      if (patch === undefined) throw ApiError.badRequest('the patch is empty');
      return change(exchange, paths, (current) => parseKubeObject(apply(current, patch)));
    }
    default:
      throw ApiError.methodNotAllowed();
  }
}

async function change(
  exchange: ResourceExchange,
  paths: ScalePaths,
  next: (scale: KubeObject) => KubeObject,
): Promise<void> {
  const { cluster, definition, info, reply } = exchange;
  const options = readWriteOptions(exchange);
  const changed = cluster.objects.change(
    definition,
    info.namespace,
    info.name,
    (current) => withScale(current, next(toScale(current, paths)), paths),
    options,
  );
  await reply.json(200, toScale(changed, paths));
}

function toScale(object: KubeObject, paths: ScalePaths): KubeObject {
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const metadata = Object.entries({ name, namespace, uid, resourceVersion, creationTimestamp });
  const selector = paths.selector(object);
  return {
    ...scaleType,
    metadata: Object.fromEntries(metadata.filter(([, value]) => value !== undefined)) as ObjectMeta,
    spec: { replicas: numberAt(object, ...paths.specReplicas) ?? 0 },
    status: {
      replicas: numberAt(object, ...paths.statusReplicas) ?? 0,
      ...(selector === '' ? {} : { selector }),
    },
  };
}

function withScale(current: KubeObject, scale: KubeObject, paths: ScalePaths): KubeObject {
  const replicas = at(scale, 'spec', 'replicas') ?? 0;
  if (typeof replicas !== 'number' || !Number.isInteger(replicas))
    throw ApiError.badRequest(
      'json: cannot unmarshal value into Go struct field .spec.replicas of type int32',
    );
  if (replicas < 0) {
    const message = `Invalid value: ${replicas}: must be greater than or equal to 0`;
    throw ApiError.invalid({ group: 'autoscaling', resource: 'scales', kind: 'Scale' }, nameOf(current), [
      { reason: 'FieldValueInvalid', message, field: 'spec.replicas' },
    ]);
  }
  const { uid, resourceVersion } = scale.metadata;
  const conditions = {
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  const changed = setPath(current, paths.specReplicas, replicas) as KubeObject;
  return withMeta(changed, conditions);
}

function setPath(target: Json | undefined, [step, ...rest]: readonly string[], value: Json): Json {
  if (step === undefined) return value;
  const parent: JsonObject = isJsonObject(target) ? target : {};
  return setOwn({ ...parent }, step, setPath(at(parent, step), rest, value));
}
