/** The authorisation file, followed live. */

import { FollowedFile } from '../followed-file.ts';
import type { FollowedFileOptions } from '../followed-file.ts';
import { Policy, maxAuthorizationFileBytes } from './policy.ts';

/** @throws ERR_RH_FILE_UNUSABLE with a line for each thing that is wrong in it */
export function openAuthorizationFile(
  path: string,
  follow: Pick<FollowedFileOptions<Policy>, 'intervalMs' | 'log' | 'onChange'>,
): Promise<FollowedFile<Policy>> {
  return FollowedFile.open({
    ...follow,
    what: 'authorisation file',
    path,
    load: async (read) => Policy.parse(decodeUtf8(await read(path))),
    maxBytes: maxAuthorizationFileBytes,
  });
}

function decodeUtf8(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Error('it is not UTF-8 text');
  }
}
