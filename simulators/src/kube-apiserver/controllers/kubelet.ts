/** Scheduler and kubelet in one: gives pods a node, starts them after a while, and removes them when they are to end. */
import { randomBytes } from 'node:crypto';
import { timestamp } from '../clock.ts';
import type { Timer } from '../clock.ts';
import type { ClusterState } from '../cluster-state.ts';
import { at, listAt, objectAt, textAt } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { nodes } from '../resources/nodes.ts';
import { pods } from '../resources/pods.ts';
import { condition } from './conditions.ts';
import type { Controller } from './controller.ts';
import type { EventRecorder } from './event-recorder.ts';

export interface KubeletOptions {
  /** How long a pod takes to start. */
  readonly podStartMs: number;
  /** How long a pod takes to stop, within its grace period. */
  readonly podStopMs: number;
}

export class Kubelet implements Controller, Disposable {
  readonly watches = [pods, nodes];
  readonly #cluster: ClusterState;
  readonly #recorder: EventRecorder;
  readonly #options: KubeletOptions;
  /** What is about to happen to a pod, by its uid; an entry goes when it has happened. */
  readonly #starting = new Map<string, Timer>();
  readonly #stopping = new Map<string, Timer>();
  #scheduled = 0;

  constructor(cluster: ClusterState, recorder: EventRecorder, options: KubeletOptions) {
    this.#cluster = cluster;
    this.#recorder = recorder;
    this.#options = options;
  }

  reconcile(): void {
    const { objects } = this.#cluster;
    for (const pod of objects.collection(pods).all()) {
      const nodeName = textAt(pod, 'spec', 'nodeName');
      // On a node that is not there nobody starts or stops anything.
      if (nodeName !== '' && objects.find(nodes, '', nodeName) === undefined) continue;
      if (pod.metadata.deletionTimestamp !== undefined) this.#stopLater(pod);
      else if (nodeName === '') this.#bind(pod);
      else if (textAt(pod, 'status', 'phase') === 'Pending')
        this.#later(this.#starting, pod, this.#options.podStartMs, () => this.#start(pod));
    }
  }

  [Symbol.dispose](): void {
    for (const timer of [...this.#starting.values(), ...this.#stopping.values()]) timer.cancel();
  }

  #bind(pod: KubeObject): void {
    const known = this.#cluster.objects.collection(nodes).all();
    const able = known.filter((node) => at(node, 'spec', 'unschedulable') !== true);
    const node = able[this.#scheduled % able.length];
    if (node === undefined) {
      const why = known.length === 0 ? '.' : `: ${known.length} node(s) were unschedulable.`;
      return this.#recorder.record(pod, {
        type: 'Warning',
        reason: 'FailedScheduling',
        message: `0/${known.length} nodes are available${why}`,
        component: 'default-scheduler',
        action: 'Scheduling',
      });
    }
    this.#scheduled += 1;
    const now = timestamp(this.#cluster.clock.now());
    const nodeName = nameOf(node);
    this.#write(pod, (current) => ({
      ...current,
      spec: { ...objectAt(current, 'spec'), nodeName },
      status: {
        ...objectAt(current, 'status'),
        phase: 'Pending',
        conditions: [condition(current, { type: 'PodScheduled', status: 'True' }, now)],
        hostIP: textAt(listAt(node, 'status', 'addresses')[0], 'address'),
        startTime: now,
        containerStatuses: containersOf(current).map((container) => ({
          ...container,
          ready: false,
          started: false,
          restartCount: 0,
          state: { waiting: { reason: 'ContainerCreating' } },
        })),
      },
    }));
    const message = `Successfully assigned ${namespaceOf(pod)}/${nameOf(pod)} to ${nodeName}`;
    this.#recorder.record(pod, {
      reason: 'Scheduled',
      message,
      component: 'default-scheduler',
      action: 'Binding',
    });
  }

  #start(pod: KubeObject): void {
    const now = timestamp(this.#cluster.clock.now());
    const podIP = this.#freeAddress();
    this.#write(pod, (current) => ({
      ...current,
      status: {
        ...objectAt(current, 'status'),
        phase: 'Running',
        conditions: [
          'PodReadyToStartContainers',
          'Initialized',
          'Ready',
          'ContainersReady',
          'PodScheduled',
        ].map((type) => condition(current, { type, status: 'True' }, now)),
        podIP,
        podIPs: [{ ip: podIP }],
        containerStatuses: containersOf(current).map((container) => ({
          ...container,
          containerID: `containerd://${randomBytes(32).toString('hex')}`,
          ready: true,
          started: true,
          restartCount: 0,
          state: { running: { startedAt: now } },
        })),
      },
    }));
    const host = textAt(pod, 'spec', 'nodeName');
    for (const container of listAt(pod, 'spec', 'containers')) {
      const name = textAt(container, 'name');
      const told = { component: 'kubelet', host, fieldPath: `spec.containers{${name}}` };
      const pulled = `Container image "${textAt(container, 'image')}" already present on machine`;
      this.#recorder.record(pod, { ...told, reason: 'Pulled', message: pulled });
      this.#recorder.record(pod, { ...told, reason: 'Created', message: `Created container: ${name}` });
      this.#recorder.record(pod, { ...told, reason: 'Started', message: `Started container ${name}` });
    }
  }

  #stopLater(pod: KubeObject): void {
    const { uid = '', deletionGracePeriodSeconds = 0 } = pod.metadata;
    // Without grace left it has been stopped, or never ran; then its finalizers hold it.
    if (this.#stopping.has(uid) || deletionGracePeriodSeconds === 0) return;
    this.#starting.get(uid)?.cancel();
    this.#starting.delete(uid);
    const host = textAt(pod, 'spec', 'nodeName');
    for (const container of listAt(pod, 'spec', 'containers')) {
      const name = textAt(container, 'name');
      const message = `Stopping container ${name}`;
      this.#recorder.record(pod, {
        reason: 'Killing',
        message,
        component: 'kubelet',
        host,
        fieldPath: `spec.containers{${name}}`,
      });
    }
    const graceMs = deletionGracePeriodSeconds * 1000;
    this.#later(this.#stopping, pod, Math.min(graceMs, this.#options.podStopMs), () => {
      const current = this.#cluster.objects.find(pods, namespaceOf(pod), nameOf(pod));
      if (current?.metadata.uid === uid)
        this.#cluster.objects.remove(pods, namespaceOf(pod), nameOf(pod), { gracePeriodSeconds: 0 });
    });
  }

  #later(timers: Map<string, Timer>, pod: KubeObject, ms: number, act: () => void): void {
    const { uid = '' } = pod.metadata;
    if (timers.has(uid)) return;
    const fire = (): void => {
      timers.delete(uid);
      act();
    };
    timers.set(uid, this.#cluster.clock.setTimeout(fire, ms));
  }

  /** Writes unless the pod is gone or another has taken its name. */
  #write(pod: KubeObject, change: (current: KubeObject) => KubeObject): void {
    const { objects } = this.#cluster;
    if (objects.find(pods, namespaceOf(pod), nameOf(pod))?.metadata.uid !== pod.metadata.uid) return;
    objects.change(pods, namespaceOf(pod), nameOf(pod), change, { scope: 'everything' });
  }

  #freeAddress(): string {
    const taken = new Set(
      this.#cluster.objects
        .collection(pods)
        .all()
        .map((pod) => textAt(pod, 'status', 'podIP')),
    );
    for (let number = 2; ; number += 1) {
      const address = `10.244.${number >>> 8}.${number & 0xff}`;
      if (!taken.has(address)) return address;
    }
  }
}

function containersOf(pod: KubeObject): readonly JsonObject[] {
  return listAt(pod, 'spec', 'containers').map((container) => ({
    name: textAt(container, 'name'),
    image: textAt(container, 'image'),
    imageID: '',
    lastState: {},
  }));
}
