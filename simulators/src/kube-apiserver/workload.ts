/**
 * Life for a demo cluster: deployments that are scaled, rolled out and robbed of a pod by turns, and pods that log. Starts when told,
 * and stops when disposed of; what it made stays.
 */
import { systemClock } from './clock.ts';
import type { Clock, Timer } from './clock.ts';
import { numberAt, objectAt, textAt } from './json.ts';
import type { JsonObject } from './json.ts';
import type { KubeApiserver } from './kube-apiserver.ts';
import { nameOf, namespaceOf } from './kube-object.ts';
import type { KubeObject } from './kube-object.ts';

export interface WorkloadOptions {
  /** Default: `shop` and `search`. Made if they are not there. */
  readonly namespaces?: readonly string[];
  /** Between two steps; each changes one thing. Default 2000. */
  readonly stepMs?: number;
  /** Between two rounds of log lines, one a pod. Default 1000. */
  readonly logMs?: number;
  readonly clock?: Clock;
}

const applications = [
  { name: 'web', image: 'registry.example/web', replicas: 3, port: 8080 },
  { name: 'worker', image: 'registry.example/worker', replicas: 2, port: 9090 },
];

export class Workload implements Disposable {
  readonly #server: KubeApiserver;
  readonly #options: Required<WorkloadOptions>;
  #timers: readonly Timer[] = [];
  #steps = 0;
  #lines = 0;

  private constructor(server: KubeApiserver, options: Required<WorkloadOptions>) {
    this.#server = server;
    this.#options = options;
  }

  /** Makes the namespaces and deployments, and keeps them changing until it is disposed of. */
  static start(server: KubeApiserver, options: WorkloadOptions = {}): Workload {
    const workload = new Workload(server, {
      namespaces: ['shop', 'search'],
      stepMs: 2000,
      logMs: 1000,
      clock: systemClock,
      ...options,
    });
    workload.#furnish();
    workload.#arm();
    return workload;
  }

  /** How many changes it has made. */
  get steps(): number {
    return this.#steps;
  }

  [Symbol.dispose](): void {
    for (const timer of this.#timers) timer.cancel();
    this.#timers = [];
  }

  #arm(): void {
    const repeat = (slot: number, ms: number, act: () => void): void => {
      const timer = this.#options.clock.setTimeout(() => {
        act();
        repeat(slot, ms, act);
      }, ms);
      this.#timers = this.#timers.with(slot, timer);
    };
    this.#timers = [{ cancel: () => {} }, { cancel: () => {} }];
    repeat(0, this.#options.stepMs, () => this.#step());
    repeat(1, this.#options.logMs, () => this.#log());
  }

  #furnish(): void {
    const { store } = this.#server;
    for (const namespace of this.#options.namespaces) {
      store.put({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } });
      store.put({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'settings', namespace },
        data: { 'log-level': 'info', greeting: `hello from ${this.#server.name}` },
      });
      for (const application of applications) {
        store.put(deployment(namespace, application));
        store.put(service(namespace, application));
      }
    }
  }

  /** By turns: scale up, replace a pod, roll out, scale down. Whatever somebody deleted meanwhile is left alone. */
  #step(): void {
    const found = this.#options.namespaces.flatMap((namespace) =>
      this.#listed('apps/v1', 'Deployment', namespace),
    );
    const chosen = found[Math.floor(this.#steps / 4) % Math.max(found.length, 1)];
    const turn = this.#steps % 4;
    this.#steps += 1;
    if (chosen === undefined) return;
    if (turn === 0) this.#scale(chosen, 1);
    else if (turn === 1) this.#replacePod(chosen);
    else if (turn === 2) this.#rollOut(chosen);
    else this.#scale(chosen, -1);
  }

  #scale(chosen: KubeObject, by: number): void {
    const replicas = Math.min(6, Math.max(1, (numberAt(chosen, 'spec', 'replicas') ?? 1) + by));
    this.#server.store.update(reference(chosen), (current) => ({
      ...current,
      spec: { ...objectAt(current, 'spec'), replicas },
    }));
  }

  #replacePod(chosen: KubeObject): void {
    const app = textAt(chosen, 'metadata', 'labels', 'app');
    const victim = this.#listed('v1', 'Pod', namespaceOf(chosen)).find(
      (pod) => pod.metadata.labels?.['app'] === app && pod.metadata.deletionTimestamp === undefined,
    );
    if (victim !== undefined) this.#server.store.delete(reference(victim));
  }

  #rollOut(chosen: KubeObject): void {
    this.#server.store.update(reference(chosen), (current) => {
      const template = objectAt(current, 'spec', 'template');
      const metadata = objectAt(template, 'metadata');
      const annotations = { ...objectAt(metadata, 'annotations'), 'example.com/build': String(this.#steps) };
      const next = { ...template, metadata: { ...metadata, annotations } };
      return { ...current, spec: { ...objectAt(current, 'spec'), template: next } };
    });
  }

  #log(): void {
    for (const namespace of this.#options.namespaces) {
      for (const pod of this.#listed('v1', 'Pod', namespace)) {
        if (textAt(pod, 'status', 'phase') !== 'Running') continue;
        this.#lines += 1;
        const path = paths[this.#lines % paths.length] ?? '/';
        const time = new Date(this.#options.clock.now()).toISOString();
        const line = `${time} level=info msg="request served" path=${path} code=200 n=${this.#lines}`;
        this.#server.appendLog({ namespace, name: nameOf(pod) }, line);
      }
    }
  }

  #listed(apiVersion: string, kind: string, namespace: string): readonly KubeObject[] {
    return this.#server.store.list({ apiVersion, kind, namespace });
  }
}

const paths = ['/', '/cart', '/search?q=tea', '/checkout', '/healthz'];

type Application = (typeof applications)[number];

function reference(object: KubeObject): {
  apiVersion: string;
  kind: string;
  namespace: string;
  name: string;
} {
  return {
    apiVersion: object.apiVersion,
    kind: object.kind,
    namespace: namespaceOf(object),
    name: nameOf(object),
  };
}

function deployment(namespace: string, { name, image, replicas, port }: Application): JsonObject {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          containers: [
            {
              name,
              image: `${image}:1.4.2`,
              ports: [{ name: 'http', containerPort: port }],
              resources: { requests: { cpu: '50m', memory: '64Mi' } },
              env: [
                { name: 'LOG_LEVEL', valueFrom: { configMapKeyRef: { name: 'settings', key: 'log-level' } } },
              ],
            },
          ],
        },
      },
    },
  };
}

function service(namespace: string, { name }: Application): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace, labels: { app: name } },
    spec: { selector: { app: name }, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
  };
}
