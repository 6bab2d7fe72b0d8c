/** The `continue` of a chunked list: the revision that all chunks show, and the key to go on after. Opaque to clients. */
import { ApiError } from '../api-error.ts';
import { numberAt, parseJson, textAt } from '../json.ts';
import type { Json } from '../json.ts';

export interface ContinueToken {
  readonly revision: number;
  readonly after: string;
}

/** Whatever is newest: for who goes on though the revision of the first chunk is no longer known. */
export const anyRevision = -1;

export function encodeContinue(token: ContinueToken): string {
  return Buffer.from(
    JSON.stringify({ v: 'meta.k8s.io/v1', rv: token.revision, start: token.after }),
  ).toString('base64url');
}

export function decodeContinue(text: string): ContinueToken {
  const body = decode(text);
  const revision = numberAt(body, 'rv');
  if (revision === undefined || textAt(body, 'v') !== 'meta.k8s.io/v1')
    throw ApiError.badRequest('continue key is not valid');
  return { revision, after: textAt(body, 'start') };
}

function decode(text: string): Json {
  try {
    return parseJson(Buffer.from(text, 'base64url').toString());
  } catch {
    // Whatever is wrong with it, the client gave a token that is none of ours.
    throw ApiError.badRequest('continue key is not valid');
  }
}
