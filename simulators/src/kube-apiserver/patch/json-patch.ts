/**
 * JSON patch, RFC 6902, with pointers of RFC 6901, as the real server's library (evanphx/json-patch, version 4) takes them: a member
 * that an object does not have may be replaced, and tested for null. Values are never changed in place.
 */
import { ApiError } from '../api-error.ts';
import { at, equalJson, isJsonList, isJsonObject, textAt } from '../json.ts';
import type { Json } from '../json.ts';
import { setOwn } from './merge-patch.ts';

/** The real server's limit (`--max-json-patch-operations` of apiserver, 10,000). */
const maxOperations = 10_000;

/** Throws BadRequest for a patch that is none, and 422 for an operation that cannot be done on this document. */
export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!isJsonList(patch))
    throw ApiError.badRequest(
      'error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp',
    );
  if (patch.length > maxOperations) {
    throw new ApiError(
      413,
      'RequestEntityTooLarge',
      `The allowed maximum operations in a JSON patch is ${maxOperations}, got ${patch.length}`,
    );
  }
  return patch.reduce<Json>(applyOperation, document);
}

function applyOperation(document: Json, operation: Json): Json {
  const path = parsePointer(textAt(operation, 'path'));
  const value = at(operation, 'value');
  switch (textAt(operation, 'op')) {
    case 'add':
      return insert(document, path, value ?? null);
    case 'remove':
      return remove(document, path);
    case 'replace':
      return replace(document, path, value ?? null);
    case 'move': {
      const from = parsePointer(textAt(operation, 'from'));
      return insert(remove(document, from), path, read(document, from));
    }
    case 'copy':
      return insert(document, path, read(document, parsePointer(textAt(operation, 'from'))));
    case 'test':
      if (!equalJson(found(document, path) ?? null, value ?? null)) throw unprocessable();
      return document;
    default:
      throw unprocessable();
  }
}

function parsePointer(pointer: string): readonly string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw unprocessable();
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** Undefined when it is the innermost object that does not have it. */
function found(document: Json, path: readonly string[]): Json | undefined {
  let value: Json | undefined = document;
  for (const step of path) {
    if (value === undefined) throw unprocessable();
    value = isJsonList(value) ? value[index(step, value.length - 1)] : at(value, step);
  }
  return value;
}

function read(document: Json, path: readonly string[]): Json {
  return found(document, path) ?? fail();
}

function insert(document: Json, path: readonly string[], value: Json): Json {
  return edit(
    document,
    path,
    (parent, step) => {
      if (!isJsonList(parent)) return setOwn({ ...parent }, step, value);
      return parent.toSpliced(step === '-' ? parent.length : index(step, parent.length), 0, value);
    },
    value,
  );
}

function replace(document: Json, path: readonly string[], value: Json): Json {
  return edit(
    document,
    path,
    (parent, step) => {
      return isJsonList(parent)
        ? parent.with(index(step, parent.length - 1), value)
        : setOwn({ ...parent }, step, value);
    },
    value,
  );
}

function remove(document: Json, path: readonly string[]): Json {
  read(document, path);
  return edit(
    document,
    path,
    (parent, step) => {
      if (isJsonList(parent)) return parent.toSpliced(index(step, parent.length - 1), 1);
      const { [step]: _, ...rest } = parent;
      return rest;
    },
    null,
  );
}

type Parent = Extract<Json, object>;

/** Rebuilds the parents along `path` around what `change` makes of the innermost one; an empty path is the whole document. */
function edit(
  document: Json,
  path: readonly string[],
  change: (parent: Parent, step: string) => Json,
  root: Json,
): Json {
  const [step, ...rest] = path;
  if (step === undefined) return root;
  if (!isJsonList(document) && !isJsonObject(document)) throw unprocessable();
  if (rest.length === 0) return change(document, step);
  if (isJsonList(document)) {
    const position = index(step, document.length - 1);
    return document.with(position, edit(document[position] ?? null, rest, change, root));
  }
  const child = at(document, step);
  if (child === undefined) throw unprocessable();
  return setOwn({ ...document }, step, edit(child, rest, change, root));
}

function index(step: string, last: number): number {
  const position = /^(0|[1-9]\d*)$/.test(step) ? Number(step) : -1;
  if (position < 0 || position > last) throw unprocessable();
  return position;
}

function fail(): never {
  throw unprocessable();
}

/** The real server does not say which operation it was, nor why. */
function unprocessable(): ApiError {
  return new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
}
