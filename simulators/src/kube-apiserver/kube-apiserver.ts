/**
 * A kube-apiserver in this process, good enough for real kubectl and client-go programs: discovery, tables, watches, logs, patches,
 * conflicts. It breaks on command (`faults`) and remembers what it saw (`connections`, `requests`).
 */
import type { RecordedConnection } from '../recorded-connection.ts';
import type { HttpProtocol, RecordedRequest } from '../recorded-request.ts';
import { RecordingServer } from '../recording-server.ts';
import type { RecordingTlsOptions } from '../recording-tls.ts';
import type { PodServer } from '../streams/pod-servers/pod-connection.ts';
import type { Program } from '../streams/processes/program.ts';
import { AggregatedDiscovery } from './aggregated-discovery.ts';
import { Authentication } from './authentication.ts';
import type { AuthenticationOptions } from './authentication.ts';
import { defaultRoles } from './authorization/default-roles.ts';
import { RbacAuthorizer } from './authorization/rbac-authorizer.ts';
import { systemClock } from './clock.ts';
import type { Clock } from './clock.ts';
import type { ClusterState } from './cluster-state.ts';
import { Containers } from './containers/containers.ts';
import { Controllers } from './controllers/controllers.ts';
import { CustomResources } from './custom/custom-resources.ts';
import { bodyLimitBytes } from './exchange.ts';
import { Faults } from './faults.ts';
import { initialObjects } from './initial-objects.ts';
import type { Json } from './json.ts';
import { LogBooks } from './logs/log-books.ts';
import { OpenApiDocuments } from './openapi/openapi-v3.ts';
import { handleRequest } from './request-handler.ts';
import { pods } from './resources/pods.ts';
import { builtInResources, ResourceRegistry } from './resources/resource-registry.ts';
import { ObjectStore } from './store/object-store.ts';
import { StoreAccess } from './store/store-access.ts';

export interface KubeApiserverOptions {
  /** Of the cluster; shows in the names of its nodes. */
  readonly name: string;
  /** Default `v1.35.2`. */
  readonly version?: string;
  /** Left out: plain HTTP/1.1, for loopback. */
  readonly tls?: RecordingTlsOptions;
  /** By ALPN, in this order. Default: HTTP/2, then HTTP/1.1. */
  readonly protocols?: readonly HttpProtocol[];
  /**
   * Who is known. What they may do is decided by the roles and bindings in the cluster, of which a fresh one has those of a real one:
   * members of `system:masters` may do everything, others who are authenticated may look around, anonymous callers see health and version.
   */
  readonly authentication?: AuthenticationOptions;
  /** Objects to begin with, beside namespaces, nodes and the `kubernetes` service; in an order in which they can be created. */
  readonly seed?: readonly Json[];
  /** Whether deployments get pods, pods run, and namespaces take their content with them. Default true. */
  readonly controllers?: boolean;
  /** How long a pod takes to start. Default 50. */
  readonly podStartMs?: number;
  /** How long a pod takes to stop, within its grace period. Default 50. */
  readonly podStopMs?: number;
  /** What containers can run beside the programs that all have, by name. */
  readonly programs?: Readonly<Record<string, Program>>;
  /** What listens in pods beside the servers that all have (7: echo, 80 and 8080: HTTP, 9000: resets every third), by port. */
  readonly podServers?: Readonly<Record<number, PodServer>>;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** Default 0: any free one. */
  readonly port?: number;
  /** Changes kept per resource for watches, at least. Default 1000. */
  readonly historyLimit?: number;
  /** Connections, and requests, that are remembered. Default 10,000. */
  readonly keepRecords?: number;
  /** Between bookmarks of a watch. Default 60,000. */
  readonly bookmarkIntervalMs?: number;
  /** Streams per HTTP/2 connection. Default 250. */
  readonly maxConcurrentStreams?: number;
  readonly clock?: Clock;
}

interface Parts {
  readonly cluster: ClusterState;
  readonly faults: Faults;
  readonly server: RecordingServer;
  readonly resources: AsyncDisposableStack;
}

export class KubeApiserver implements AsyncDisposable {
  readonly #parts: Parts;
  #closing: Promise<void> | undefined;
  readonly name: string;
  /** The cluster's content. */
  readonly store: StoreAccess;
  readonly faults: Faults;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.name = parts.cluster.name;
    this.store = new StoreAccess(parts.cluster.registry, parts.cluster.objects);
    this.faults = parts.faults;
  }

  /** Starts one. Rejects when the port is taken, or a seed object is not valid. */
  static async listen(options: KubeApiserverOptions): Promise<KubeApiserver> {
    await using resources = new AsyncDisposableStack();
    const { clock = systemClock, controllers = true, historyLimit = 1000 } = options;
    const registry = new ResourceRegistry(builtInResources);
    const objects = new ObjectStore({ clock, historyLimit, controllers });
    resources.use(CustomResources.start(registry, objects));
    const logs = resources.use(new LogBooks(objects.collection(pods), 5000));
    const { programs = {}, podServers: servers = {} } = options;
    const containers = resources.use(new Containers(objects.collection(pods), { programs, servers, clock }));
    const { version = 'v1.35.2' } = options;
    const cluster: ClusterState = {
      name: options.name,
      version,
      clock,
      registry,
      objects,
      logs,
      containers,
      openApi: new OpenApiDocuments(registry, version),
      discovery: new AggregatedDiscovery(registry),
      authentication: new Authentication(options.authentication ?? {}),
      authorizer: new RbacAuthorizer(objects),
      bookmarkIntervalMs: options.bookmarkIntervalMs ?? 60_000,
    };
    const seeded = new StoreAccess(registry, objects);
    for (const object of [...initialObjects(cluster), ...defaultRoles, ...(options.seed ?? [])])
      seeded.put(object);
    if (controllers)
      resources.use(
        Controllers.start(cluster, {
          podStartMs: options.podStartMs ?? 50,
          podStopMs: options.podStopMs ?? 50,
        }),
      );

    const faults = new Faults();
    const rooms = { cluster, faults };
    const {
      tls,
      protocols = ['h2', 'http/1.1'],
      host = '127.0.0.1',
      port = 0,
      maxConcurrentStreams = 250,
      keepRecords = 10_000,
    } = options;
    const server = resources.use(
      await RecordingServer.listen({
        host,
        port,
        ...(tls === undefined ? {} : { tls, protocols }),
        maxConcurrentStreams,
        keepRecords,
        upgrades: true,
        // One more than is accepted shows that there was more.
        keepBodyBytes: bodyLimitBytes + 1,
        handle: async (exchange) => handleRequest(rooms, exchange),
      }),
    );
    return new KubeApiserver({ cluster, faults, server, resources: resources.move() });
  }

  get port(): number {
    return this.#parts.server.port;
  }

  /** `https://127.0.0.1:<port>`, or http without TLS. */
  get url(): string {
    return this.#parts.server.url;
  }

  /** The newest of them, the oldest first. */
  get connections(): readonly RecordedConnection[] {
    return this.#parts.server.connections;
  }

  /** The newest of them, the oldest first. */
  get requests(): readonly RecordedRequest[] {
    return this.#parts.server.requests;
  }

  /** TCP connections accepted since the start. */
  get accepted(): number {
    return this.#parts.server.accepted;
  }

  /** TCP connections that are open now. */
  get open(): number {
    return this.#parts.server.open;
  }

  /** Requests since the start, remembered or not. */
  get received(): number {
    return this.#parts.server.received;
  }

  /** The listening side: to wait for connections and requests, to replace its certificate, to cut what is idle or everything. */
  get wire(): Omit<RecordingServer, 'handle'> {
    return this.#parts.server;
  }

  /** A line for the log of a pod's container (default: its first). Throws when there is no such pod. */
  appendLog(
    pod: { readonly namespace?: string; readonly name: string; readonly container?: string },
    line: string,
  ): void {
    this.#parts.cluster.logs.append({ namespace: 'default', ...pod }, line, this.#parts.cluster.clock.now());
  }

  /** Ends every connection, timer and watch. Idempotent. */
  async close(): Promise<void> {
    this.#closing ??= this.#parts.resources.disposeAsync();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
