/**
 * Which lists a strategic merge patch merges, and by which key, as a tree along the fields. A list that is not named here is
 * replaced as a whole.
 */
import type { Schema } from '../schema/schema.ts';

export interface MergeSchema {
  readonly fields?: Readonly<Record<string, MergeSchema>>;
  /** This is a list that is merged: of objects by this key, or, with `''`, of primitive values as a set. */
  readonly mergeKey?: string;
}

/** What a schema says of it; undefined where it says nothing. */
export function mergeSchemaOf(schema: Schema): MergeSchema {
  const { mergeKey, items } = schema;
  const inner = items === undefined ? schema : items;
  const fields = Object.entries(inner.properties ?? {}).flatMap(([name, child]) => {
    const found = mergeSchemaOf(child);
    return found.fields === undefined && found.mergeKey === undefined ? [] : [[name, found] as const];
  });
  return {
    ...(fields.length === 0 ? {} : { fields: Object.fromEntries(fields) }),
    ...(mergeKey === undefined ? {} : { mergeKey }),
  };
}
