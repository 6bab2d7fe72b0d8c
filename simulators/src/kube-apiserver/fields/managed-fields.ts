/**
 * Who owns which field (k8s.io/apimachinery/pkg/util/managedfields). Every write goes through here: an update takes what it changes,
 * an apply owns what it says and gives up what it no longer says.
 */
import { isJsonObject, textAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { withMeta } from '../kube-object.ts';
import type { Schema } from '../schema/schema.ts';
import { applyConflict } from './apply-conflict.ts';
import type { Conflict } from './apply-conflict.ts';
import {
  difference,
  equalFields,
  fromFieldsV1,
  intersection,
  noFields,
  toFieldsV1,
  union,
  without,
} from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { compareFields, emptyValue, fieldsOf, mergeFields, removeFields } from './typed-fields.ts';

export interface Manager {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  /** Empty: the object itself. */
  readonly subresource: string;
}

interface Entry extends Manager {
  /** RFC 3339; empty when none was given. */
  readonly time: string;
  readonly fields: FieldSet;
}

export interface TrackedKind {
  readonly schema: Schema;
  readonly builtIn: boolean;
  /** Paths that writes of this kind neither set nor own. */
  readonly ignored: readonly (readonly string[])[];
}

/** The object with `managedFields` for a write by other means than apply. `live` is undefined on creation. */
export function recordUpdate(
  live: KubeObject | undefined,
  next: KubeObject,
  { schema, builtIn, ignored }: TrackedKind,
  writer: Manager,
  now: string,
): KubeObject {
  const entries = entriesToStart(live, next, writer);
  const base: JsonObject = live ?? (builtIn ? emptyValue(schema) : {});
  const { added, modified, removed } = compareFields(base, next, schema);
  const changed = strip(union(added, modified), ignored);
  const others = entries
    .filter((entry) => !sameManager(entry, writer))
    .map((entry) => ({ ...entry, fields: difference(difference(entry.fields, changed), removed) }));
  const own = entries.find((entry) => sameManager(entry, writer));
  const fields = difference(union(own?.fields ?? noFields, changed), removed);
  return withEntries(next, [...others, renewed(own, writer, fields, now)]);
}

export interface ApplyRequest extends TrackedKind {
  readonly writer: Manager;
  /** Whether fields of other managers are taken over. */
  readonly force: boolean;
  readonly now: string;
}

/** `applied` laid over `live`, without what the manager no longer says and nobody else owns. Throws Conflict. */
export function applyFields(live: KubeObject, applied: KubeObject, request: ApplyRequest): KubeObject {
  const { schema, ignored, writer, force, now } = request;
  const entries = decodeEntries(live);
  const own = entries.find((entry) => sameManager(entry, writer));
  const said = strip(fieldsOf(applied, schema), ignored);
  const others = entries.filter((entry) => entry !== own);
  const merged = mergeFields(live, applied, schema);
  const owned = others.reduce((all, entry) => union(all, entry.fields), said);
  const gone = own === undefined ? noFields : unowned(own.fields, owned);
  const next = (removeFields(merged, gone, schema) ?? {}) as KubeObject;

  const { added, modified, removed } = compareFields(live, next, schema);
  const changed = strip(union(added, modified), ignored);
  const conflicts = others
    .map((entry): Conflict => ({ manager: entry, fields: intersection(entry.fields, changed) }))
    .filter(({ fields }) => fields.size > 0);
  if (conflicts.length > 0 && !force) throw applyConflict(conflicts);
  const left = others.map((entry) => ({
    ...entry,
    fields: difference(difference(entry.fields, changed), removed),
  }));
  const complete = { ...next, apiVersion: live.apiVersion, kind: live.kind, metadata: next.metadata ?? {} };
  return withEntries(complete, [...left, renewed(own, writer, said, now)]);
}

/** Fields of `mine` that are neither in `owned` themselves nor hold anything that is. */
function unowned(mine: FieldSet, owned: FieldSet): FieldSet {
  return new Map(
    [...mine].flatMap(([element, node]) => {
      const other = owned.get(element);
      if (other === undefined) return [[element, node] as const];
      const children = unowned(node.children, other.children);
      return children.size === 0 ? [] : [[element, { owned: false, children }] as const];
    }),
  );
}

/** What the writer sends back counts, so that it can edit the list or, with one empty entry, drop it; else what was there. */
function entriesToStart(live: KubeObject | undefined, next: KubeObject, writer: Manager): readonly Entry[] {
  const before = live === undefined ? [] : decodeEntries(live);
  if (writer.subresource !== '') return before;
  const given = next.metadata.managedFields;
  if (given?.length === 1 && isJsonObject(given[0]) && Object.keys(given[0]).length === 0) return [];
  const decoded = decodeEntries(next);
  return decoded.length === 0 ? before : decoded;
}

function decodeEntries(object: KubeObject): readonly Entry[] {
  return (object.metadata.managedFields ?? []).flatMap((entry) => {
    const operation = textAt(entry, 'operation');
    if (operation !== 'Apply' && operation !== 'Update') return [];
    return [
      {
        manager: textAt(entry, 'manager'),
        operation,
        apiVersion: textAt(entry, 'apiVersion'),
        subresource: textAt(entry, 'subresource'),
        time: textAt(entry, 'time'),
        fields: fromFieldsV1(isJsonObject(entry) ? entry['fieldsV1'] : undefined),
      } satisfies Entry,
    ];
  });
}

function renewed(own: Entry | undefined, writer: Manager, fields: FieldSet, now: string): Entry {
  if (own !== undefined && equalFields(own.fields, fields) && own.apiVersion === writer.apiVersion)
    return own;
  return { ...writer, time: now, fields };
}

function withEntries(object: KubeObject, entries: readonly Entry[]): KubeObject {
  const kept = entries.filter(({ fields }) => fields.size > 0).toSorted(compareEntries);
  const { managedFields: _, ...metadata } = object.metadata;
  if (kept.length === 0) return { ...object, metadata };
  return withMeta(object, { managedFields: kept.map(encodeEntry) });
}

function encodeEntry({ manager, operation, apiVersion, subresource, time, fields }: Entry): Json {
  return {
    manager,
    operation,
    apiVersion,
    ...(time === '' ? {} : { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: toFieldsV1(fields),
    ...(subresource === '' ? {} : { subresource }),
  };
}

/** Appliers first, then by time. */
function compareEntries(left: Entry, right: Entry): number {
  const key = (entry: Entry): string =>
    [entry.operation, entry.time, entry.manager, entry.apiVersion, entry.subresource].join('\n');
  return key(left) < key(right) ? -1 : 1;
}

/** An applier is the same in every version. */
function sameManager(left: Manager, right: Manager): boolean {
  return (
    left.manager === right.manager &&
    left.operation === right.operation &&
    left.subresource === right.subresource &&
    (left.operation === 'Apply' || left.apiVersion === right.apiVersion)
  );
}

/** Nobody owns what only the server writes. */
const unmanaged: readonly (readonly string[])[] = [
  ['apiVersion'],
  ['kind'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ].map((field) => ['metadata', field]),
];

function strip(set: FieldSet, ignored: readonly (readonly string[])[]): FieldSet {
  const left = [...unmanaged, ...ignored].reduce(without, set);
  const metadata = left.get('f:metadata');
  if (metadata?.owned !== true) return left;
  const others = [...left].filter(([element]) => element !== 'f:metadata');
  return new Map(
    metadata.children.size === 0
      ? others
      : [...others, ['f:metadata', { owned: false, children: metadata.children }]],
  );
}
