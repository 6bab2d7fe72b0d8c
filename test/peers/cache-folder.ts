/** Where programs are kept that the suites obtain: with the user's other caches, outside the repository. */

import { homedir } from 'node:os';
import path from 'node:path';

/** @param name of what is kept there */
export function cacheFolder(name: string, environment: NodeJS.ProcessEnv): string {
  const configured = environment['XDG_CACHE_HOME'];
  // The XDG specification has relative paths ignored.
  const root =
    configured !== undefined && path.isAbsolute(configured)
      ? configured
      : path.join(environment['HOME'] ?? homedir(), '.cache');
  return path.join(root, 'roundhouse', name);
}
