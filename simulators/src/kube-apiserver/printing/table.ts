/** Server-side printing: meta.k8s.io/v1 Tables, which is what `kubectl get` shows. */
import type { JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { nameColumn } from '../resources/columns.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';

/** `includeObject=`: what of the object goes with each row. */
export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  readonly includeObject: IncludeObject;
  /** Watches send the column definitions with the first event only. */
  readonly headers: boolean;
  readonly now: number;
}

export function toTable(
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
  metadata: JsonObject,
  options: TableOptions,
): JsonObject {
  const columns = [nameColumn, ...definition.columns];
  return {
    kind: 'Table',
    apiVersion: 'meta.k8s.io/v1',
    metadata,
    columnDefinitions: options.headers
      ? columns.map(({ name, type, format, description, priority }) => ({
          name,
          type,
          format,
          description,
          priority,
        }))
      : null,
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.value(object, options.now)),
      ...included(object, options.includeObject),
    })),
  };
}

export function toPartialMetadata(object: KubeObject): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: object.metadata };
}

function included(object: KubeObject, include: IncludeObject): JsonObject {
  if (include === 'None') return {};
  return { object: include === 'Object' ? object : toPartialMetadata(object) };
}
