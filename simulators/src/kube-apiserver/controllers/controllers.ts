/**
 * The control loops that give objects a life. They are level-based: each looks at what is and writes what should be, and is called
 * again after any change of what it watches. Owns the loop and whatever timers the controllers hold.
 */
import { ApiError } from '../api-error.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { Controller } from './controller.ts';
import { CustomResourceController } from './custom-resource-controller.ts';
import { DeploymentController } from './deployment-controller.ts';
import { EndpointSliceController } from './endpoint-slice-controller.ts';
import { EventRecorder } from './event-recorder.ts';
import { GarbageCollector } from './garbage-collector.ts';
import { Kubelet } from './kubelet.ts';
import type { KubeletOptions } from './kubelet.ts';
import { NamespaceController } from './namespace-controller.ts';
import { NodeHeartbeats } from './node-heartbeats.ts';
import { ReplicaSetController } from './replica-set-controller.ts';
import { RoleAggregator } from './role-aggregator.ts';

export class Controllers implements Disposable {
  readonly #controllers: readonly Controller[];
  readonly #dirty: Set<Controller>;
  readonly #resources: DisposableStack;
  #scheduled: NodeJS.Immediate | undefined;

  private constructor(controllers: readonly Controller[], resources: DisposableStack) {
    this.#controllers = controllers;
    this.#dirty = new Set(controllers);
    this.#resources = resources;
  }

  static start(cluster: ClusterState, options: KubeletOptions): Controllers {
    const resources = new DisposableStack();
    const recorder = new EventRecorder(cluster);
    const kubelet = resources.use(new Kubelet(cluster, recorder, options));
    const heartbeats = resources.use(new NodeHeartbeats(cluster));
    const controllers = new Controllers(
      [
        new NamespaceController(cluster),
        new CustomResourceController(cluster),
        new DeploymentController(cluster, recorder),
        new ReplicaSetController(cluster, recorder),
        kubelet,
        heartbeats,
        new EndpointSliceController(cluster),
        new RoleAggregator(cluster),
        new GarbageCollector(cluster),
      ],
      resources,
    );
    controllers.#subscribe(cluster);
    controllers.#schedule();
    return controllers;
  }

  [Symbol.dispose](): void {
    clearImmediate(this.#scheduled);
    this.#resources.dispose();
  }

  #subscribe(cluster: ClusterState): void {
    for (const controller of this.#controllers) {
      const mark = (): void => {
        this.#dirty.add(controller);
        this.#schedule();
      };
      if (controller.watches === undefined) this.#resources.use(cluster.objects.versions.onChange(mark));
      for (const definition of controller.watches ?? [])
        this.#resources.use(cluster.objects.collection(definition).onChange(mark));
    }
  }

  #schedule(): void {
    this.#scheduled ??= setImmediate(() => this.#run());
  }

  #run(): void {
    this.#scheduled = undefined;
    const due = this.#controllers.filter((controller) => this.#dirty.has(controller));
    this.#dirty.clear();
    for (const controller of due) reconcile(controller);
  }
}

/** What the rules of the API refuse it does when something has changed, as the real ones do, who try again and again. */
function reconcile(controller: Controller): void {
  try {
    controller.reconcile();
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
  }
}
