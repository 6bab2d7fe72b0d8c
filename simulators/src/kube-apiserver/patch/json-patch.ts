/** JSON patch, RFC 6902, with pointers of RFC 6901. Values are never changed in place. */
import { ApiError } from '../api-error.ts';
import { at, equalJson, isJsonList, isJsonObject, textAt } from '../json.ts';
import type { Json } from '../json.ts';
import { setOwn } from './merge-patch.ts';

/** The real server's limit (`--max-json-patch-operations` of apiserver, 10,000). */
const maxOperations = 10_000;

/** Throws BadRequest for a patch that is none, and 422 for an operation that cannot be done on this document. */
export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!isJsonList(patch))
    throw ApiError.badRequest('json: cannot unmarshal object into Go value of type jsonpatch.Patch');
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
      read(document, path);
      return replace(document, path, value ?? null);
    case 'move': {
      const from = parsePointer(textAt(operation, 'from'));
      return insert(remove(document, from), path, read(document, from));
    }
    case 'copy':
      return insert(document, path, read(document, parsePointer(textAt(operation, 'from'))));
    case 'test':
      if (!equalJson(read(document, path), value ?? null))
        throw unprocessable(`testing path ${textAt(operation, 'path')} failed`);
      return document;
    default:
      throw unprocessable(`Unexpected kind: ${textAt(operation, 'op') || 'unknown'}`);
  }
}

function parsePointer(pointer: string): readonly string[] {
  if (pointer === '') return [];
  if (!pointer.startsWith('/')) throw unprocessable(`invalid JSON pointer "${pointer}"`);
  return pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
}

function read(document: Json, path: readonly string[]): Json {
  let found: Json | undefined = document;
  for (const step of path)
    found = isJsonList(found) ? found[index(step, found.length - 1, path)] : at(found, step);
  if (found === undefined) throw missing(path);
  return found;
}

function insert(document: Json, path: readonly string[], value: Json): Json {
  return edit(
    document,
    path,
    path,
    (parent, step) => {
      if (!isJsonList(parent)) return setOwn({ ...parent }, step, value);
      return parent.toSpliced(step === '-' ? parent.length : index(step, parent.length, path), 0, value);
    },
    value,
  );
}

function replace(document: Json, path: readonly string[], value: Json): Json {
  return edit(
    document,
    path,
    path,
    (parent, step) => {
      return isJsonList(parent)
        ? parent.with(index(step, parent.length - 1, path), value)
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
    path,
    (parent, step) => {
      if (isJsonList(parent)) return parent.toSpliced(index(step, parent.length - 1, path), 1);
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
  whole: readonly string[],
  change: (parent: Parent, step: string) => Json,
  root: Json,
): Json {
  const [step, ...rest] = path;
  if (step === undefined) return root;
  if (!isJsonList(document) && !isJsonObject(document)) throw missing(whole);
  if (rest.length === 0) return change(document, step);
  if (isJsonList(document)) {
    const position = index(step, document.length - 1, whole);
    return document.with(position, edit(document[position] ?? null, rest, whole, change, root));
  }
  const child = at(document, step);
  if (child === undefined) throw missing(whole);
  return setOwn({ ...document }, step, edit(child, rest, whole, change, root));
}

function index(step: string, last: number, path: readonly string[]): number {
  const position = /^(0|[1-9]\d*)$/.test(step) ? Number(step) : -1;
  if (position < 0 || position > last)
    throw unprocessable(`Unable to access invalid index: ${step} in /${path.join('/')}`);
  return position;
}

function missing(path: readonly string[]): ApiError {
  return unprocessable(
    `the server rejected our request due to an error in our request: /${path.join('/')} does not exist`,
  );
}

function unprocessable(message: string): ApiError {
  return new ApiError(422, 'Invalid', message, {});
}
