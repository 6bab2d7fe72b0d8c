/**
 * The gateway as one object: it opens what it needs in order, and closes it in the opposite one. Two of them in one process
 * know nothing of each other.
 */

import { AdminServer, Health, Metrics, Scope, createLogger, isLoopbackHost } from '@roundhouse/process';
import type { ExecSources } from '@roundhouse/kubernetes';
import type { Logger } from '@roundhouse/process';
import { TransportPool } from '@roundhouse/transport';
import type { PoolSnapshot, ProxyChoice, ProxyEnvironment } from '@roundhouse/transport';
import { AuditLog } from './observability/audit-log.ts';
import type { Authenticator } from './authentication/authenticator.ts';
import type { Cluster } from './clusters/cluster.ts';
import { execPolicyOf, openExecSources } from './clusters/credential-plugins.ts';
import { ClusterRegistry } from './clusters/cluster-registry.ts';
import { KubeconfigSource } from './clusters/kubeconfig-source.ts';
import { upstreamProxyOf } from './clusters/upstream-proxy.ts';
import { openFront } from './front.ts';
import type { Front } from './front.ts';
import { FrontListener } from './listener/front-listener.ts';
import { AccessLog } from './observability/access-log.ts';
import { CredentialCounts } from './observability/credential-counts.ts';
import { debugRoutes } from './observability/debug-routes.ts';
import { killSession } from './observability/debug-sessions.ts';
import { ExpiryWatch } from './observability/expiry-watch.ts';
import { GatewayMetrics } from './observability/gateway-metrics.ts';
import { SessionCounts } from './observability/session-counts.ts';
import { OpenExchanges } from './open-exchanges.ts';
import { parseGatewayOptions } from './options.ts';
import type { GatewayOptions, GatewayOptionsInput } from './options.ts';
import { poolLimits } from './pool-limits.ts';
import { RequestIds } from './request-ids.ts';
import { serve } from './serve.ts';
import { OpenSessions } from './sessions/open-sessions.ts';

export interface GatewayDependencies {
  /** Default: JSON lines on stdout, at `logLevel`. */
  readonly logger?: Logger | undefined;
  /** Where `upstreamProxyFromEnvironment` looks, and what credential plugins inherit; nothing else looks there. */
  readonly environment?: ProxyEnvironment | undefined;
}

/** What is left when the drain limit is over gets so long to be cut. */
const cutTimeoutMs = 2_000;

export class Gateway implements AsyncDisposable {
  /** Where clients come in, for instance `https://127.0.0.1:7443`. */
  readonly url: string;
  readonly adminUrl: string;
  readonly #parts: Parts;
  #closing: Promise<void> | undefined;

  private constructor(parts: Parts) {
    this.#parts = parts;
    this.url = parts.listener.url;
    this.adminUrl = parts.admin.url;
  }

  /**
   * @param input unknown keys are errors
   * @throws ERR_RH_OPTIONS_INVALID, ERR_RH_PROXY_URL_INVALID, ERR_RH_FILE_UNUSABLE, ERR_RH_KUBECONFIG_INVALID,
   * ERR_RH_LISTEN_FAILED
   */
  static async open(input: GatewayOptionsInput, dependencies: GatewayDependencies = {}): Promise<Gateway> {
    const options = parseGatewayOptions(input);
    const proxyOf = upstreamProxyOf(options, dependencies.environment);
    const log = dependencies.logger ?? createLogger({ level: options.logLevel });
    const scope = new Scope();
    try {
      const { environment = {} } = dependencies;
      return new Gateway(await openParts(options, { proxyOf, environment }, log, scope));
    } catch (error) {
      await scope.close();
      throw error;
    }
  }

  /** What the transports to the clusters do now. */
  inspect(): PoolSnapshot {
    return this.#parts.pool.inspect();
  }

  /** The clusters that are served, in the order in which they were found. */
  get clusters(): readonly Cluster[] {
    return [...this.#parts.registry];
  }

  /**
   * Readiness off, no new connections, `Connection: close` on answers and GOAWAY; what is under way may end by itself until
   * the limit, then streams are ended in order and the rest is cut. Resolves when nothing is left. Later calls join the first.
   *
   * @param timeoutMs default: `limits.drainTimeoutMs`
   */
  close({ timeoutMs }: { readonly timeoutMs?: number } = {}): Promise<void> {
    this.#closing ??= this.#close(timeoutMs ?? this.#parts.options.limits.drainTimeoutMs);
    return this.#closing;
  }

  get hasAuditLog(): boolean {
    return this.#parts.audit !== undefined;
  }

  /** For SIGHUP: the audit log goes on in the file that has its name now. */
  reopenLogs(): void {
    this.#parts.audit?.reopen();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(timeoutMs: number): Promise<void> {
    const { log, listener, open, scope, state } = this.#parts;
    state.stopping = true;
    log.info({ inFlight: open.size, timeoutMs }, 'draining');
    const drained = listener.drain();
    if (!(await within(timeoutMs, drained))) {
      log.info({ inFlight: open.size }, 'drain limit reached');
      open.stopAll();
      // Streams have been ended, their connections are idle now.
      await within(cutTimeoutMs, drained);
    }
    const { hung } = await scope.close();
    log.info({ ...(hung.length > 0 && { hung }) }, 'closed');
  }
}

interface Parts {
  readonly options: GatewayOptions;
  readonly log: Logger;
  readonly scope: Scope;
  readonly state: { stopping: boolean; listener: FrontListener | undefined };
  readonly pool: TransportPool;
  readonly registry: ClusterRegistry;
  readonly open: OpenExchanges;
  readonly listener: FrontListener;
  readonly admin: AdminServer;
  readonly audit: AuditLog | undefined;
}

/** What the options alone do not say. */
interface Surroundings {
  readonly proxyOf: ProxyChoice | undefined;
  readonly environment: ProxyEnvironment;
}

/** In order of need; the scope closes it the other way round, the admin listener among the last, so that one can look. */
async function openParts(
  options: GatewayOptions,
  surroundings: Surroundings,
  log: Logger,
  scope: Scope,
): Promise<Parts> {
  const state: Parts['state'] = { stopping: false, listener: undefined };
  const metrics = new Metrics({ processMetrics: true });
  const open = new OpenExchanges();
  const sessionCounts = new SessionCounts();
  const sessions = new OpenSessions(sessionCounts);
  const sources: KubeconfigSource[] = [];
  const pool = new TransportPool({ profile: 'proxy', limits: poolLimits(options) });
  // Whatever still runs at this point was given its time by the gateway's own drain.
  scope.defer('transport pool', () => pool.close({ timeoutMs: 0 }));
  const followTls = (): void => {
    const tls = front.tls();
    if (tls !== undefined) {
      state.listener?.replaceTls(tls);
    }
  };
  const front = await openFront(options, log, scope, pool, {
    tls: followTls,
    callers: () => sessions.review(),
  });
  const { authenticator } = front;
  const audit = await openAudit(options, log, scope);
  const credentials = new CredentialCounts();
  const execSources = scope.use(
    'credential plugins',
    openExecSources(options.credentialPlugins, surroundings.environment, credentials, log),
  );
  const registry = scope.use(
    'clusters',
    openRegistry(options, {
      authenticator,
      pool,
      sources,
      execSources,
      credentials,
      proxyOf: surroundings.proxyOf,
      log,
    }),
  );
  const show = {
    clusters: () => registry,
    sources: () => [...sources, ...front.files],
    pool: () => pool.inspect(),
  };
  const gatewayMetrics = new GatewayMetrics(metrics, {
    ...show,
    frontConnections: () => state.listener?.connections ?? 0,
    sessions: sessionCounts,
    credentials,
    pluginsRunning: () => execSources.running,
    audit: () => audit?.numbers,
  });
  const admin = scope.use(
    'admin listener',
    await AdminServer.open({
      ...options.admin,
      option: '--admin',
      ...healthOf(state, front, audit),
      metrics,
      routes: debugRoutes({
        ...show,
        url: () => state.listener?.url,
        conflicts: () => registry.conflicts,
        policy: front.policy,
        sessions,
      }),
      actions: {
        routes: { '/debug/sessions/kill': killSession(sessions, log) },
        fromAnywhere: options.adminRemoteActions,
        option: '--admin-remote-actions',
      },
      onError: (error) => log.error({ reason: error.message }, 'admin listener'),
    }),
  );
  for (const path of options.kubeconfigs) {
    const source = await KubeconfigSource.open({
      path,
      registry,
      execPolicy: execPolicyOf(options.credentialPlugins),
      intervalMs: options.reloadIntervalMs,
      log,
      onChange: (changed) => log.info({ source: changed, clusters: registry.size }, 'kubeconfig read'),
      onError: (failed, error) =>
        log.error(
          { source: failed, reason: error.message },
          'kubeconfig unusable, the last good one stays in use',
        ),
    });
    sources.push(scope.use(`kubeconfig ${path}`, source));
  }
  const expiry = ExpiryWatch.start({
    certificates: () => [...registry.certificates(), ...front.certificates()],
    log,
  });
  scope.use('expiry watch', expiry).look();
  const rooms = {
    guarded: !authenticator.on || options.tls === undefined,
    maxHeadBytes: options.limits.maxHeadBytes,
    authenticator,
    authorizer: front.authorizer,
    clusters: registry,
    limits: options.limits,
    open,
    requestIds: new RequestIds(),
    sessions,
    metrics: gatewayMetrics,
    accessLog: new AccessLog(log),
    audit,
  };
  const listener = scope.use(
    'listener',
    await FrontListener.open({
      ...options.listen,
      ...options.limits,
      tls: front.tls(),
      serve: (incoming, reply, expectsContinue) => void serve(rooms, incoming, reply, expectsContinue),
      onError: (error) => log.error({ reason: error.message }, 'listener'),
    }),
  );
  state.listener = listener;
  // They may have changed while it opened.
  followTls();
  log.info({ url: listener.url, admin: admin.url, clusters: registry.size }, 'listening');
  warnOfAdmin(options, admin.url, log);
  return { options, log, scope, state, pool, registry, open, listener, admin, audit };
}

function warnOfAdmin(
  { admin: { host }, adminRemoteActions }: GatewayOptions,
  url: string,
  log: Logger,
): void {
  if (!isLoopbackHost(host)) {
    log.warn(
      { admin: url, remoteActions: adminRemoteActions },
      'the admin listener can be reached from other machines: it shows users and what they do to whoever asks',
    );
  }
}

/** Before the listener, so that it takes the last request's line, too. */
async function openAudit(
  { audit: { log: path, required, maxBufferBytes } }: GatewayOptions,
  log: Logger,
  scope: Scope,
): Promise<AuditLog | undefined> {
  return path === undefined
    ? undefined
    : scope.use('audit log', await AuditLog.open({ path, required, maxBufferBytes, log }));
}

interface RegistryParts {
  readonly authenticator: Authenticator;
  readonly pool: TransportPool;
  readonly sources: readonly KubeconfigSource[];
  readonly execSources: ExecSources;
  readonly credentials: CredentialCounts;
  readonly proxyOf: ProxyChoice | undefined;
  readonly log: Logger;
}

function openRegistry(
  options: GatewayOptions,
  { authenticator, pool, sources, execSources, credentials, proxyOf, log }: RegistryParts,
): ClusterRegistry {
  const identityMode = options.identity ?? (authenticator.on ? 'impersonate' : 'gateway');
  return new ClusterRegistry({
    clusterOptions: (name) => ({
      pool,
      identityMode: options.clusterIdentity[name] ?? identityMode,
      alpn: options.upstreamAlpn,
      proxyOf,
      execSources,
      onCredentialChanged: () => credentials.count(name, 'changed'),
      reread: async (source) => sources.find(({ path }) => path === source)?.reread(),
      materialOf: (source) => sources.find(({ path }) => path === source)?.materialOf(name),
      upgradePolicy: options.sessionsAfterRotation,
    }),
    onChange: (event, { name, source, state, lastError }) =>
      log.info(
        { cluster: name, source, state, ...(lastError && { reason: lastError.message }) },
        `cluster ${event}`,
      ),
    onConflict: ({ name, source, heldBy }) =>
      log.error({ cluster: name, source, heldBy }, 'the name is taken by a context of another kubeconfig'),
  });
}

function healthOf(
  state: Parts['state'],
  { issuerKeys }: Front,
  audit: AuditLog | undefined,
): { livez: Health; readyz: Health } {
  const livez = new Health('livez');
  const readyz = new Health('readyz');
  readyz.add({
    name: 'listener',
    check: () => (state.listener === undefined ? 'not listening yet' : undefined),
  });
  if (issuerKeys !== undefined) {
    readyz.add({
      name: 'oidc',
      check: () => (issuerKeys.lookup === undefined ? issuerKeys.error?.message : undefined),
    });
  }
  if (audit !== undefined) {
    readyz.add({ name: 'audit', check: () => audit.refusal });
  }
  readyz.add({ name: 'shutdown', check: () => (state.stopping ? 'shutting down' : undefined) });
  return { livez, readyz };
}

/** Whether it ended in time. */
async function within(timeoutMs: number, promise: Promise<void>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<false>();
  const timer = setTimeout(() => resolve(false), timeoutMs);
  try {
    return await Promise.race([promise.then(() => true as const), late]);
  } finally {
    clearTimeout(timer);
  }
}
