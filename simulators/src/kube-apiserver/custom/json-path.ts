/** The JSON paths of printer columns: fields, indexes, `[*]`, and `[?(@.type=="Ready")]`. */
import { at, isJsonList, isJsonObject } from '../json.ts';
import type { Json } from '../json.ts';

type Step = (values: readonly Json[]) => readonly Json[];

const token =
  /\.([\w-]+(?:\\\.[\w-]+)*)|\['((?:[^'\\]|\\.)*)'\]|\[(-?\d+)\]|(\[\*\]|\.\*)|\[\?\(\s*@\.([\w.-]+)\s*(==|!=)\s*["']?([^"')\]]*)["']?\s*\)\]/y;

/** Undefined for a path that is not understood. */
export function parseJsonPath(path: string): ((root: Json) => readonly Json[]) | undefined {
  const steps: Step[] = [];
  token.lastIndex = 0;
  while (token.lastIndex < path.length) {
    const match = token.exec(path);
    if (match === null) return undefined;
    steps.push(stepOf(match));
  }
  return (root) => steps.reduce<readonly Json[]>((values, step) => step(values), [root]);
}

function stepOf([, name, quoted, index, every, field = '', operator, wanted]: RegExpExecArray): Step {
  const key = name ?? quoted;
  if (key !== undefined) {
    const plain = key.replaceAll(/\\(.)/g, '$1');
    return (values) => values.flatMap((value) => present(at(value, plain)));
  }
  if (index !== undefined)
    return (values) => values.flatMap((value) => (isJsonList(value) ? present(value.at(Number(index))) : []));
  if (every !== undefined) return (values) => values.flatMap(children);
  return (values) =>
    values
      .flatMap(children)
      .filter((item) => (String(at(item, ...field.split('.')) ?? '') === wanted) === (operator === '=='));
}

function children(value: Json): readonly Json[] {
  if (isJsonList(value)) return value;
  return isJsonObject(value) ? Object.values(value).flatMap(present) : [];
}

function present(value: Json | undefined): readonly Json[] {
  return value === undefined || value === null ? [] : [value];
}
