/** Where a command is, by the rules of Go's exec.LookPath: a bare name on PATH, anything with a slash as it stands. */

import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';

/**
 * The absolute path of what can be run; undefined when there is none. A folder of PATH that is relative is passed over: what runs
 * must not depend on where the program was started.
 *
 * @param path the value of PATH
 */
export async function findCommand(command: string, path: string | undefined): Promise<string | undefined> {
  if (command.includes('/')) {
    return (await canRun(command)) ? command : undefined;
  }
  for (const folder of (path ?? '').split(':')) {
    const candidate = join(folder, command);
    if (isAbsolute(folder) && (await canRun(candidate))) {
      return candidate;
    }
  }
  return undefined;
}

async function canRun(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    // Missing, or not ours to run: either way there is nothing to run here.
    return false;
  }
}
