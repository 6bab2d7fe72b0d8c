// Finds a Node that Roundhouse runs on and hands the process over to it. Plain JavaScript that any ES-module Node
// parses: it runs on the Node that is too old.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The first of each line that tells of a reset under a write of HTTP/2: see adr/0001 of the repository. */
const floors = [
  [24, 22],
  [26, 9],
];

/** Whether this very process can run Roundhouse. */
export function isSupported(version) {
  const [major, minor] = version.split('.').map(Number);
  return major > 26 || floors.some((floor) => major === floor[0] && minor >= floor[1]);
}

/** The runtime that npm installed in a `node_modules` of `folder` or of one above it; undefined where none was. */
export function findInstalledNode(folder) {
  const name = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const file = process.platform === 'win32' ? 'node.exe' : 'node';
  for (let at = folder; ; at = dirname(at)) {
    const candidate = join(at, 'node_modules', name, 'bin', file);
    if (existsSync(candidate)) return candidate;
    if (dirname(at) === at) return undefined;
  }
}

/** Replaces this process by Node with the given arguments; explains and exits with 1 when no Node is new enough. */
export function continueWithNode(folder, args) {
  const node = isSupported(process.versions.node) ? process.execPath : findInstalledNode(folder);
  if (node === undefined) {
    console.error(
      `Roundhouse needs Node ${floors.map((floor) => floor.join('.')).join(' or ')}, or newer; this is ${process.versions.node}, and the runtime that npm installs ` +
        'beside it is missing.\nRun "npm ci" (without --omit=optional), or install a newer Node for this platform.',
    );
    process.exit(1);
  }
  // execve keeps the process id, so that signals and exit codes need nobody in between.
  if (typeof process.execve === 'function' && process.platform !== 'win32') {
    process.execve(node, [node, ...process.execArgv, ...args], process.env);
  }
  const child = spawn(node, args, { stdio: 'inherit' });
  // A terminal sends ctrl-C to the whole group: passing it on would be the second one, which forces.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'));
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`Cannot start ${node}: ${error.message}`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code === null ? 1 : code);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
