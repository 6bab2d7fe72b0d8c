// Life in a cluster: log lines to follow and deployments that grow and shrink, so that watches have something to show. What a person
// makes or deletes is theirs: nothing here changes it.

import type { KubeApiserver } from '@roundhouse/simulators';

type KubeObject = ReturnType<KubeApiserver['store']['list']>[number];
type Section = Extract<KubeObject[string], { readonly [key: string]: unknown }>;

const lineIntervalMs = 1_000;
/** One change of a deployment for so many rounds of log lines. */
const roundsPerChange = 8;

export class Activity implements Disposable {
  readonly #cluster: KubeApiserver;
  readonly #deployments: readonly string[];
  readonly #timer: NodeJS.Timeout;
  #round = 0;

  private constructor(cluster: KubeApiserver, deployments: readonly string[]) {
    this.#cluster = cluster;
    this.#deployments = deployments;
    this.#timer = setInterval(() => this.#turn(), lineIntervalMs);
  }

  /** Goes on until it is disposed of. @param deployments that grow and shrink, as `namespace/name` */
  static start(cluster: KubeApiserver, deployments: readonly string[]): Activity {
    return new Activity(cluster, deployments);
  }

  #turn(): void {
    this.#round += 1;
    for (const pod of this.#cluster.store.list({ apiVersion: 'v1', kind: 'Pod' })) {
      const { name = '', namespace = 'default', deletionTimestamp } = pod.metadata;
      if (deletionTimestamp !== undefined || !isRunning(pod)) continue;
      this.#cluster.appendLog(
        { name, namespace },
        `round ${this.#round}: all quiet on ${this.#cluster.name}`,
      );
    }
    if (this.#round % roundsPerChange === 0) this.#resize();
  }

  /** Two replicas become three and the other way round, one deployment after the other. */
  #resize(): void {
    const turn = this.#round / roundsPerChange;
    const [namespace = '', name = ''] = this.#deployments[turn % this.#deployments.length]?.split('/') ?? [];
    const reference = { apiVersion: 'apps/v1', kind: 'Deployment', name, namespace };
    if (this.#cluster.store.get(reference) === undefined) return;
    this.#cluster.store.update(reference, (current) => {
      const spec = section(current, 'spec');
      return { ...current, spec: { ...spec, replicas: spec['replicas'] === 2 ? 3 : 2 } };
    });
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function isRunning(pod: KubeObject): boolean {
  return section(pod, 'status')['phase'] === 'Running';
}

function section(object: KubeObject, name: 'spec' | 'status'): Section {
  const found = object[name];
  return isSection(found) ? found : {};
}

function isSection(value: KubeObject[string]): value is Section {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
