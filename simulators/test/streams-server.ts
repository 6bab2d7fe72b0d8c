/** A simulated cluster with a pod that runs, for tests of its streams; and clients of them. */

import { ExecClient, type ExecRequest } from '../src/streams/clients/exec-client.ts';
import type { StreamTarget } from '../src/streams/clients/open-upgrade.ts';
import type { KubeApiserver, KubeApiserverOptions } from '../src/kube-apiserver/kube-apiserver.ts';
import { startServer, token } from './kube-apiserver-client.ts';

export const protocols = ['spdy', 'websocket'] as const;

/** The pod `web` runs a container `main`. */
export async function startWithPod(options: Partial<KubeApiserverOptions> = {}): Promise<KubeApiserver> {
  return startServer({ ...options, seed: [runningPod('web')] });
}

export function runningPod(name: string, containers: readonly string[] = ['main']) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { nodeName: 'node-1', containers: containers.map((each) => ({ name: each, image: 'image:1' })) },
    status: {
      phase: 'Running',
      containerStatuses: containers.map((each) => ({
        name: each,
        image: 'image:1',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      })),
    },
  };
}

export function targetOf({ url }: KubeApiserver): StreamTarget {
  return { url, headers: { Authorization: `Bearer ${token}` } };
}

export async function exec(
  server: KubeApiserver,
  via: 'spdy' | 'websocket',
  command: readonly string[],
  request: Partial<ExecRequest> = {},
): Promise<ExecClient> {
  return ExecClient.open(targetOf(server), { via, pod: 'web', command, ...request });
}

/** What the command wrote, as text, and its exit code. */
export async function run(
  server: KubeApiserver,
  via: 'spdy' | 'websocket',
  command: readonly string[],
  input?: string | Uint8Array,
): Promise<{ readonly stdout: string; readonly stderr: string; readonly code: number | undefined }> {
  await using client = await exec(server, via, command, { stdin: input !== undefined });
  const collected = client.collect();
  if (input !== undefined) {
    await client.stdin?.write(Buffer.from(input));
    await client.stdin?.end();
  }
  const { stdout, stderr, code } = await collected;
  return { stdout: stdout.toString(), stderr: stderr.toString(), code };
}
