/** A request for a resource that is served, authorised, with the form of its answer chosen; and how objects are written in it. */
import { ApiError } from '../api-error.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { AuthenticatedExchange } from '../exchange.ts';
import type { JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import type { Form } from '../printing/accept.ts';
import { toPartialMetadata, toTable } from '../printing/table.ts';
import type { IncludeObject } from '../printing/table.ts';
import type { ResourceRequest } from '../request-info.ts';
import { apiVersionOf } from '../resources/resource-definition.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import { asShown } from '../store/object-store.ts';

export interface ResourceExchange extends AuthenticatedExchange {
  readonly cluster: ClusterState;
  readonly definition: ResourceDefinition;
  readonly info: ResourceRequest;
  readonly form: Form;
}

/** One object in the form that was asked for. */
export function formObject(exchange: ResourceExchange, stored: KubeObject, headers = true): JsonObject {
  const { definition, form } = exchange;
  const object = asShown(definition, stored);
  if (form === 'metadata') return toPartialMetadata(object);
  if (form === 'object') return object;
  const { resourceVersion } = object.metadata;
  return toTable(
    definition,
    [object],
    resourceVersion === undefined ? {} : { resourceVersion },
    tableOptions(exchange, headers),
  );
}

export function formList(
  exchange: ResourceExchange,
  stored: readonly KubeObject[],
  metadata: JsonObject,
): JsonObject {
  const { definition, form } = exchange;
  const objects =
    definition.stored === undefined ? stored : stored.map((object) => asShown(definition, object));
  switch (form) {
    case 'table':
      return toTable(definition, objects, metadata, tableOptions(exchange, true));
    case 'metadata':
      return {
        kind: 'PartialObjectMetadataList',
        apiVersion: 'meta.k8s.io/v1',
        metadata,
        items: objects.map(toPartialMetadata),
      };
    case 'object':
      return {
        kind: `${definition.kind}List`,
        apiVersion: apiVersionOf(definition),
        metadata,
        // Items of typed lists carry no apiVersion and kind; those of custom resources do.
        items: definition.custom ? objects : objects.map(withoutType),
      };
  }
}

function withoutType(object: KubeObject): JsonObject {
  const { apiVersion: _, kind: __, ...rest } = object;
  return rest;
}

function tableOptions(
  exchange: ResourceExchange,
  headers: boolean,
): { includeObject: IncludeObject; headers: boolean; now: number } {
  return { includeObject: includeOf(exchange.query), headers, now: exchange.cluster.clock.now() };
}

function includeOf(query: URLSearchParams): IncludeObject {
  const given = query.get('includeObject') ?? 'Metadata';
  if (given === 'None' || given === 'Metadata' || given === 'Object') return given;
  throw ApiError.badRequest(`unrecognized includeObject value: "${given}"`);
}
