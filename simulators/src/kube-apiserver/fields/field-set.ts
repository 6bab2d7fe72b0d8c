/**
 * Sets of fields, as `managedFields` keeps them: a tree whose edges are path elements in the form of FieldsV1: `f:<name>` of a map,
 * `k:{"name":"x"}` an item of a list by its keys, `v:"x"` a member of a set.
 */
import { isJsonObject, parseJson } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';

export interface FieldNode {
  /** Whether the field itself is in the set, beside what is below it. */
  readonly owned: boolean;
  readonly children: FieldSet;
}

export type FieldSet = ReadonlyMap<string, FieldNode>;

export const noFields: FieldSet = new Map();

const absent: FieldNode = { owned: false, children: noFields };

export function union(left: FieldSet, right: FieldSet): FieldSet {
  return combine(left, right, (inLeft, inRight) => inLeft || inRight);
}

export function intersection(left: FieldSet, right: FieldSet): FieldSet {
  return combine(left, right, (inLeft, inRight) => inLeft && inRight);
}

export function difference(left: FieldSet, right: FieldSet): FieldSet {
  return combine(left, right, (inLeft, inRight) => inLeft && !inRight);
}

function combine(
  left: FieldSet,
  right: FieldSet,
  keep: (inLeft: boolean, inRight: boolean) => boolean,
): FieldSet {
  const result = new Map<string, FieldNode>();
  for (const element of new Set([...left.keys(), ...right.keys()])) {
    const ours = left.get(element) ?? absent;
    const theirs = right.get(element) ?? absent;
    const children = combine(ours.children, theirs.children, keep);
    const owned = keep(ours.owned, theirs.owned);
    if (owned || children.size > 0) result.set(element, { owned, children });
  }
  return result;
}

/** Without `path` and all that is below it. */
export function without(set: FieldSet, path: readonly string[]): FieldSet {
  const [name, ...rest] = path;
  if (name === undefined) return set;
  const element = `f:${name}`;
  const node = set.get(element);
  if (node === undefined) return set;
  const others = [...set].filter(([other]) => other !== element);
  if (rest.length === 0) return new Map(others);
  const children = without(node.children, rest);
  return children.size === 0 && !node.owned
    ? new Map(others)
    : new Map([...set, [element, { owned: node.owned, children }]]);
}

export function equalFields(left: FieldSet, right: FieldSet): boolean {
  return (
    left.size === right.size &&
    [...left].every(([element, node]) => {
      const other = right.get(element);
      return other !== undefined && other.owned === node.owned && equalFields(node.children, other.children);
    })
  );
}

/** Every field in the set, as people read it: `.spec.containers[name="main"].image`. */
export function pathTexts(set: FieldSet, prefix = ''): readonly string[] {
  return sorted(set).flatMap(([element, { owned, children }]) => {
    const path = `${prefix}${elementText(element)}`;
    return [...(owned ? [path] : []), ...pathTexts(children, path)];
  });
}

function elementText(element: string): string {
  const rest = element.slice(2);
  switch (element[0]) {
    case 'f':
      return `.${rest}`;
    case 'k': {
      const keys = parseJson(rest);
      const pairs = isJsonObject(keys) ? Object.entries(keys) : [];
      return `[${pairs.map(([key, value]) => `${key}=${JSON.stringify(value)}`).join(',')}]`;
    }
    case 'v':
      return `[=${rest}]`;
    default:
      return `[${rest}]`;
  }
}

export function toFieldsV1(set: FieldSet): JsonObject {
  return Object.fromEntries(
    sorted(set).map(([element, { owned, children }]) => [
      element,
      children.size > 0 && owned ? { '.': {}, ...toFieldsV1(children) } : toFieldsV1(children),
    ]),
  );
}

/** What is malformed reads as nothing. */
export function fromFieldsV1(value: Json | undefined): FieldSet {
  if (!isJsonObject(value)) return noFields;
  return new Map(
    Object.entries(value)
      .filter(([element]) => /^[fkvi]:/.test(element))
      .map(([element, child]) => {
        const children = fromFieldsV1(child);
        return [element, { owned: children.size === 0 || Object.hasOwn(child as JsonObject, '.'), children }];
      }),
  );
}

function sorted(set: FieldSet): readonly (readonly [element: string, node: FieldNode])[] {
  return [...set].toSorted(([left], [right]) => (left < right ? -1 : 1));
}
