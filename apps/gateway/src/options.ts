/** Everything that a gateway can be told, with defaults, limits and what excludes what. Parsed once, at the start. */

import { isLoopbackHost, logLevels, parseOptions } from '@roundhouse/process';
import { profiles } from '@roundhouse/transport';
import { z } from 'zod';
import { identityModes } from './identity/identity-mode.ts';

const proxy = profiles.proxy;
const port = z.int().min(0).max(65_535);
const file = z.string().min(1);
/** A timer of Node.js cannot be longer. */
const ms = z.int().min(1).max(2_147_483_647);
const count = z.int().min(1).max(1_000_000);

const schema = z
  .strictObject({
    /** Files whose contexts are served. Where two have a context of one name, the earlier file keeps it. */
    kubeconfigs: z.array(file).min(1, 'at least one kubeconfig is needed'),
    /** Port 0: a free one. */
    listen: z
      .strictObject({ host: z.string().min(1).default('127.0.0.1'), port: port.default(7443) })
      .prefault({}),
    /** Serve TLS, with HTTP/1.1 and HTTP/2. Without it: plain HTTP, on loopback only. */
    tls: z.strictObject({ certFile: file, keyFile: file }).optional(),
    /** Callers by client certificate of this CA. Needs `tls`. */
    clientCaFile: file.optional(),
    /** Callers by bearer token, in the form of the kube-apiserver's `--token-auth-file`. */
    tokenFile: file.optional(),
    /** Default: `impersonate` where callers are asked, else `gateway`. */
    identity: z.enum(identityModes).optional(),
    /** By cluster, where it differs from `identity`. */
    clusterIdentity: z.record(z.string(), z.enum(identityModes)).default({}),
    /** Health, metrics and state. */
    admin: z
      .strictObject({ host: z.string().min(1).default('127.0.0.1'), port: port.default(7480) })
      .prefault({}),
    /** What to offer a cluster in ALPN. */
    upstreamAlpn: z.enum(['http/1.1', 'h2', 'auto']).default('http/1.1'),
    /** The longest time in which a change of a kubeconfig stays unseen where file events do not reach. */
    reloadIntervalMs: ms.default(30_000),
    logLevel: z.enum(logLevels).default('info'),
    limits: z
      .strictObject({
        /** A client's connection without a request is closed after this time; balancers in front keep theirs for 60 s. */
        keepAliveTimeoutMs: ms.default(75_000),
        /** For the head of a request, and for TLS handshakes. */
        headTimeoutMs: ms.default(15_000),
        maxHeadBytes: z.int().min(4_096).max(1_048_576).default(65_536),
        /** The longest break in a request body. */
        uploadSilenceMs: ms.default(60_000),
        /** A client that takes nothing of its answer is cut after this time. */
        clientStallTimeoutMs: ms.default(600_000),
        /** A watch that does not say how long it wants to last; a kube-apiserver ends them within the hour. */
        watchLifetimeMs: ms.default(3_900_000),
        /** At the end of the process: what is under way may go on for so long. */
        drainTimeoutMs: ms.default(proxy.drainTimeoutMs),
        requestTimeoutMs: ms.default(proxy.requestTimeoutMs),
        dialTimeoutMs: ms.default(proxy.dialTimeoutMs),
        maxConnectionsPerCluster: count.default(proxy.maxConnectionsPerHost),
        maxStreamsPerCluster: count.default(proxy.maxStreamsPerHost),
        maxWaitingPerCluster: count.default(proxy.maxWaitingPerHost),
        maxWaitMs: ms.default(proxy.maxWaitMs),
        maxIdlePerCluster: count.default(proxy.maxIdlePerHost),
        maxIdle: count.default(proxy.maxIdle),
        idleTimeoutMs: ms.default(proxy.idleTimeoutMs),
        maxIdleTransports: count.default(proxy.maxIdleTransports),
        maxTransports: count.default(proxy.maxTransports),
      })
      .prefault({}),
  })
  .superRefine((options, context) => {
    const add = (path: string[], message: string): void => {
      context.addIssue({ code: 'custom', path, message });
    };
    const asksCallers = options.clientCaFile !== undefined || options.tokenFile !== undefined;
    const local = isLoopbackHost(options.listen.host);
    if (options.clientCaFile !== undefined && options.tls === undefined) {
      add(['clientCaFile'], 'client certificates need TLS: give a certificate and a key to serve with');
    }
    if (options.tls === undefined && !local) {
      add(
        ['listen', 'host'],
        'plain HTTP is served on loopback only: give a certificate and a key, or listen on 127.0.0.1',
      );
    }
    if (!asksCallers && !local) {
      add(
        ['listen', 'host'],
        'without authentication only loopback is served: give a client CA or a token file',
      );
    }
    for (const [path, mode] of [
      [['identity'], options.identity] as const,
      ...Object.entries(options.clusterIdentity).map(
        ([name, clusterMode]) => [['clusterIdentity', name], clusterMode] as const,
      ),
    ]) {
      if (mode === 'impersonate' && !asksCallers) {
        add([...path], 'impersonate needs to know who is calling: give a client CA or a token file');
      }
    }
    if (options.limits.maxIdleTransports > options.limits.maxTransports) {
      add(['limits', 'maxIdleTransports'], 'cannot be larger than maxTransports');
    }
  });

export type GatewayOptions = z.output<typeof schema>;
export type GatewayOptionsInput = z.input<typeof schema>;

/** @throws ERR_RH_OPTIONS_INVALID */
export function parseGatewayOptions(value: unknown): GatewayOptions {
  return parseOptions('the gateway', schema, value);
}
