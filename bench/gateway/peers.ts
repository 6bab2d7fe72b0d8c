/** The programs that the gateway is compared with. In CI one that is missing is a failure; elsewhere the page says that it is. */

import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { obtainKubectl } from '../../test/peers/obtain-kubectl.ts';

export interface Peers {
  /** Paths; undefined when there is none. */
  readonly kubectl: string | undefined;
  readonly nginx: string | undefined;
  readonly leftOut: readonly { readonly contestant: string; readonly reason: string }[];
}

export async function findPeers(
  environment: NodeJS.ProcessEnv,
  report: (line: string) => void,
): Promise<Peers> {
  const leftOut: { contestant: string; reason: string }[] = [];
  const nginx = await onPath('nginx', environment['PATH'] ?? '');
  if (nginx === undefined) {
    leftOut.push({
      contestant: 'nginx',
      reason:
        'it is not on PATH (Debian and Ubuntu: apt-get install nginx-light); the upstream was our own server instead',
    });
  }
  const kubectl = await obtainKubectl('1.35', { environment, report }).catch((error: unknown) => {
    leftOut.push({
      contestant: 'kubectl proxy',
      reason: error instanceof Error ? error.message : String(error),
    });
    return undefined;
  });
  const [missing] = leftOut;
  if (missing !== undefined && isCi(environment)) {
    throw new Error(`In CI every peer takes part, but ${missing.contestant} does not: ${missing.reason}`);
  }
  return { kubectl, nginx, leftOut };
}

export async function versionsOf({ kubectl, nginx }: Peers): Promise<Readonly<Record<string, string>>> {
  const node = { 'Node.js': process.versions.node, 'OpenSSL of Node.js': process.versions.openssl };
  const nginxText = nginx === undefined ? '' : (await promisify(execFile)(nginx, ['-V'])).stderr;
  const kubectlText =
    kubectl === undefined
      ? ''
      : (await promisify(execFile)(kubectl, ['version', '--client', '-o', 'json'])).stdout;
  return {
    ...node,
    ...found('nginx', /nginx version: nginx\/(\S+)/.exec(nginxText)?.[1]),
    ...found(
      'OpenSSL of nginx',
      /running with OpenSSL (\S+)|built with OpenSSL (\S+)/.exec(nginxText)?.slice(1).find(Boolean),
    ),
    ...found('kubectl', /"gitVersion": "v([^"]+)"/.exec(kubectlText)?.[1]),
    ...found('Go of kubectl', /"goVersion": "go([^"]+)"/.exec(kubectlText)?.[1]),
  };
}

function found(name: string, version: string | undefined): Record<string, string> {
  return version === undefined ? {} : { [name]: version };
}

function isCi(environment: NodeJS.ProcessEnv): boolean {
  return !['', '0', 'false', undefined].includes(environment['CI']);
}

async function onPath(program: string, path: string): Promise<string | undefined> {
  // Where Debian puts daemons, which is not on everybody's PATH.
  for (const folder of [...path.split(delimiter), '/usr/sbin', '/usr/local/sbin']) {
    const file = join(folder, program);
    try {
      await access(file, constants.X_OK);
      return file;
    } catch {
      // Not here.
    }
  }
  return undefined;
}
