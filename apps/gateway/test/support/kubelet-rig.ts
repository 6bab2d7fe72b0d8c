/** A gateway in front of a simulated cluster with a pod `web` in which commands run and servers listen. */

import type { TestContext } from 'node:test';
import { ExecClient, KubeApiserver, PortForwardClient } from '@roundhouse/simulators';
import type { ExecRequest, KubeApiserverOptions, StreamTarget } from '@roundhouse/simulators';
import { authority, contextFor, openRig, upstreamTls } from './gateway-rig.ts';
import type { Rig, RigOptions } from './gateway-rig.ts';
import { frontOptions } from './fronts.ts';

export type Via = 'spdy' | 'websocket';

export const vias = ['spdy', 'websocket'] as const;

const pod = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web', namespace: 'default' },
  spec: { nodeName: 'node-1', containers: [{ name: 'main', image: 'image:1' }] },
  status: {
    phase: 'Running',
    containerStatuses: [
      {
        name: 'main',
        image: 'image:1',
        imageID: '',
        ready: true,
        restartCount: 0,
        state: { running: { startedAt: '2026-01-01T00:00:00Z' } },
      },
    ],
  },
};

export interface KubeletRig extends Rig {
  readonly cluster: KubeApiserver;
  readonly target: StreamTarget;
  exec(via: Via, command: readonly string[], request?: Partial<ExecRequest>): Promise<ExecClient>;
  /** By another way to the gateway. */
  execAt(target: StreamTarget, via: Via, command: readonly string[]): Promise<ExecClient>;
  forward(via: Via): Promise<PortForwardClient>;
}

/** Over TLS, with callers. */
export async function openKubelet(
  t: TestContext,
  options: Partial<KubeApiserverOptions> = {},
  rigOptions: RigOptions = {},
): Promise<KubeletRig> {
  const cluster = await KubeApiserver.listen({
    name: 'alpha',
    tls: upstreamTls,
    controllers: false,
    authentication: { tokens: { 'gateway-token': { username: 'gateway', groups: ['system:masters'] } } },
    seed: [pod],
    ...options,
  });
  t.after(() => cluster.close());
  const rig = await openRig(t, {
    ...frontOptions('TLS'),
    clusterIdentity: { alpha: 'gateway' },
    contexts: () => ({ alpha: contextFor(cluster) }),
    ...rigOptions,
  });
  const target: StreamTarget = {
    url: `${rig.gateway.url}/clusters/alpha`,
    headers: { Authorization: 'Bearer good' },
    tls: { ca: authority.certificatePem, servername: 'localhost' },
  };
  return {
    ...rig,
    cluster,
    target,
    exec: (via, command, request) => ExecClient.open(target, { via, pod: 'web', command, ...request }),
    execAt: (other, via, command) => ExecClient.open(other, { via, pod: 'web', command }),
    forward: (via) => PortForwardClient.open(target, { via, pod: 'web' }),
  };
}
