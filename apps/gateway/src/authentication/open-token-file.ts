import { FollowedFile } from '../followed-file.ts';
import type { FollowedFileOptions } from '../followed-file.ts';
import { TokenFile, maxTokenFileBytes } from './token-file.ts';

/**
 * The token file, followed live: a token that is taken out is refused from then on.
 *
 * @throws ERR_RH_FILE_UNUSABLE
 */
export function openTokenFile(
  path: string,
  follow: Pick<FollowedFileOptions<TokenFile>, 'intervalMs' | 'log' | 'onChange'>,
): Promise<FollowedFile<TokenFile>> {
  return FollowedFile.open({
    ...follow,
    what: 'token file',
    path,
    load: async (read) => TokenFile.parse((await read(path)).toString()),
    maxBytes: maxTokenFileBytes,
  });
}
