/**
 * The real servers, built from the Go module in `go/`, whose go.sum pins every byte of them. Built once, kept in the user's cache,
 * and built again when the module changes. `KUBEBUILDER_ASSETS=/folder` is used instead for etcd and kube-apiserver where it is set.
 *
 * `npm run test:peers` builds them all before the first suite asks, since two suites that build at once take twice as long.
 */

import { execFile, spawn } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, mkdir, readFile, readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from './cache-folder.ts';
import { LineQueue } from './line-queue.ts';

/** Packages to build, by the name of the program. */
const packages = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'proxy-agent': 'sigs.k8s.io/apiserver-network-proxy/cmd/agent',
  'proxy-server': 'sigs.k8s.io/apiserver-network-proxy/cmd/server',
  'tunnel-client': './tunnel-client',
} as const;

export type GoProgram = keyof typeof packages;

export const goPrograms = Object.keys(packages).filter((name): name is GoProgram =>
  Object.hasOwn(packages, name),
);

const moduleFolder = path.join(import.meta.dirname, 'go');
const buildTimeoutMs = 1_200_000;
const reportIntervalMs = 10_000;
const assetsVariable = 'KUBEBUILDER_ASSETS';
/** What such a folder has, and we use. */
const assets: readonly GoProgram[] = ['etcd', 'kube-apiserver'];

export interface GoProgramOptions {
  readonly environment?: NodeJS.ProcessEnv;
  /** Called with a line about every ten seconds while something is built. Default: stderr. */
  readonly report?: (line: string) => void;
}

/** Why the programs cannot be had, for the reason of a skip; undefined when they are there or can be built. */
export async function whyNoGoPrograms(
  programs: readonly GoProgram[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const missing: GoProgram[] = [];
  for (const program of programs) {
    if (assetOf(program, environment) !== undefined) continue;
    if (!(await isExecutable(await builtFile(program, environment)))) missing.push(program);
  }
  if (missing.length === 0) return undefined;
  try {
    // Inside the module, so that a Go that is older than the module wants says so.
    await promisify(execFile)('go', ['version'], { cwd: moduleFolder, env: environment });
    return undefined;
  } catch (error) {
    const said = error instanceof Error ? error.message.trim().split('\n').at(-1) : String(error);
    return `${missing.join(', ')} not there, and no Go to build with (${said})`;
  }
}

/** The path of the program; built, which takes minutes, where it is not there yet. */
export async function obtainGoProgram(program: GoProgram, options: GoProgramOptions = {}): Promise<string> {
  const { environment = process.env, report = reportOnStderr } = options;
  const asset = assetOf(program, environment);
  if (asset !== undefined) {
    if (!(await isExecutable(asset)))
      throw new Error(`${assetsVariable} is set, but ${asset} cannot be executed`);
    return asset;
  }
  const file = await builtFile(program, environment);
  if (await isExecutable(file)) return file;

  const folder = path.dirname(file);
  await mkdir(folder, { recursive: true });
  const unfinished = path.join(folder, `.unfinished-${randomUUID()}`);
  try {
    await build(program, unfinished, environment, report);
    await rename(unfinished, file);
  } finally {
    await rm(unfinished, { force: true });
  }
  for (const name of await readdir(folder)) {
    // Of another go.sum: nobody asks for it again. One that runs goes on.
    if (name !== path.basename(file) && isBuilt(name, program))
      await rm(path.join(folder, name), { force: true });
  }
  return file;
}

function assetOf(program: GoProgram, environment: NodeJS.ProcessEnv): string | undefined {
  const folder = environment[assetsVariable];
  if (folder === undefined || folder === '' || !assets.includes(program)) return undefined;
  return path.join(path.resolve(folder), program);
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}

/** By content: of the module, and of the program where it is ours. */
async function builtFile(program: GoProgram, environment: NodeJS.ProcessEnv): Promise<string> {
  const own = packages[program];
  const files = ['go.mod', 'go.sum', ...(own.startsWith('./') ? [path.join(own, 'main.go')] : [])];
  const hash = createHash('sha256');
  for (const file of files) hash.update(await readFile(path.join(moduleFolder, file)));
  const key = hash.digest('hex').slice(0, 16);
  return path.join(cacheFolder('go-programs', environment), `${program}-${key}`);
}

function isBuilt(name: string, program: GoProgram): boolean {
  return name.startsWith(`${program}-`) && /^[0-9a-f]{16}$/.test(name.slice(program.length + 1));
}

async function build(
  program: GoProgram,
  output: string,
  environment: NodeJS.ProcessEnv,
  report: (line: string) => void,
): Promise<void> {
  const args = ['build', '-v', '-mod=readonly', '-buildvcs=false', '-trimpath'];
  args.push('-ldflags', await linkerFlags(), '-o', output, packages[program]);
  report(`${program}: building ${packages[program]} (minutes, the first time)`);
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1000);
  // A group of its own: the compilers that it starts end with it.
  const child = spawn('go', args, {
    cwd: moduleFolder,
    env: { ...environment, GOWORK: 'off' },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let timedOut = false;
  const limit = setTimeout(() => {
    timedOut = true;
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  }, buildTimeoutMs);
  let done = 0;
  const progress = setInterval(
    () => report(`${program}: ${done} packages compiled, ${seconds()} s`),
    reportIntervalMs,
  );
  try {
    const lines = LineQueue.over(child.stderr);
    const closed = once(child, 'close');
    for await (const _ of lines) done += 1;
    const [code] = await closed;
    if (timedOut) throw new Error(`${program} was not built within ${buildTimeoutMs / 1000} s`);
    if (code !== 0) throw new Error(`${program} cannot be built:\n${lines.recent.join('\n')}`);
  } finally {
    clearTimeout(limit);
    clearInterval(progress);
  }
  report(`${program}: built in ${seconds()} s`);
}

/** What Kubernetes would stamp itself with; without it, it takes itself for v0.0.0 and compares versions accordingly. */
async function linkerFlags(): Promise<string> {
  const module = await readFile(path.join(moduleFolder, 'go.mod'), 'utf8');
  const [, version = '', major = '', minor = ''] =
    /\sk8s\.io\/kubernetes (v(\d+)\.(\d+)\.\d+)/.exec(module) ?? [];
  const stamp = { gitVersion: version, gitMajor: major, gitMinor: minor };
  return [
    '-s -w',
    ...Object.entries(stamp).map(([name, value]) => `-X k8s.io/component-base/version.${name}=${value}`),
  ].join(' ');
}

function reportOnStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
