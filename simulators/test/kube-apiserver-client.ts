/** The simulator for its own tests: one server with one known user, and requests to it. */
import { LineStream } from '../src/conformance/line-stream.ts';
import { openRequest, request } from '../src/conformance/request.ts';
import type { Answer, Endpoint, RequestParts } from '../src/conformance/request.ts';
import { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import type { KubeApiserverOptions } from '../src/kube-apiserver/kube-apiserver.ts';
import type { ManualClock } from '../src/manual-clock.ts';

export const token = 'test-token';

/** Plain HTTP, no controllers unless asked for: nothing happens that the test does not do. */
export async function startServer(options: Partial<KubeApiserverOptions> = {}): Promise<KubeApiserver> {
  return KubeApiserver.listen({
    name: 'test',
    controllers: false,
    authentication: { tokens: { [token]: { username: 'tester', groups: ['system:masters'] } } },
    ...options,
  });
}

export async function call(
  server: KubeApiserver,
  method: string,
  path: string,
  parts: RequestParts = {},
): Promise<Answer> {
  return request(endpointOf(server), method, path, parts);
}

export async function open(
  server: KubeApiserver,
  method: string,
  path: string,
  parts: RequestParts = {},
): Promise<Response> {
  return openRequest(endpointOf(server), method, path, parts);
}

/** The lines of a stream as they come. Disposing of it ends the request. */
export async function openLines(
  server: KubeApiserver,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<LineStream> {
  return LineStream.open(endpointOf(server), path, headers);
}

function endpointOf({ url }: KubeApiserver): Endpoint {
  return { url, fetch, token };
}

/** Lets the control loops come to rest, and the pods start and stop. */
export async function settle(clock: ManualClock): Promise<void> {
  for (let round = 0; round < 20; round += 1) {
    await new Promise(setImmediate);
    clock.advance(100);
  }
}

export const configMaps = '/api/v1/namespaces/default/configmaps';

export function configMap(
  name: string,
  data: Readonly<Record<string, string>> = {},
  labels?: Readonly<Record<string, string>>,
) {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: 'default', ...(labels === undefined ? {} : { labels }) },
    data,
  };
}

export function pod(name: string, labels: Readonly<Record<string, string>> = {}) {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', labels },
    spec: { containers: [{ name: 'main', image: 'image:1' }] },
  };
}
