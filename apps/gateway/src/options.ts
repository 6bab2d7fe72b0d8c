/**
 * Everything that a gateway can be told, with defaults, limits and what excludes what. Parsed once, at the start. The
 * descriptions are what `roundhouse gateway --help` shows beside the flags that it makes of this schema.
 */

import { isLoopbackHost, logLevels, parseOptions } from '@roundhouse/process';
import { profiles } from '@roundhouse/transport';
import { z } from 'zod';
import { oidcOptionsSchema } from './authentication/oidc/oidc-options.ts';
import { filePath } from './file-path.ts';
import { credentialPluginOptionsSchema } from './clusters/credential-plugins.ts';
import { upstreamAlpns } from './clusters/upstream-alpn.ts';
import { identityModes } from './identity/identity-mode.ts';

const proxy = profiles.proxy;
const port = z.int().min(0).max(65_535);
const file = filePath;
/** A timer of Node.js cannot be longer. */
const ms = z.int().min(1).max(2_147_483_647);
const count = z.int().min(1).max(1_000_000);

/** Each option by itself. */
export const gatewayFieldsSchema = z.strictObject({
  kubeconfigs: z
    .array(file)
    .min(1, 'at least one kubeconfig is needed')
    .describe(
      'files whose contexts are served; where two have a context of one name, the earlier file keeps it',
    ),
  listen: z
    .strictObject({ host: z.string().min(1).default('127.0.0.1'), port: port.default(7443) })
    .prefault({})
    .describe('where clients come in; port 0: a free one'),
  tls: z
    .strictObject({
      certFile: file.describe(
        'serve TLS with this certificate, over HTTP/1.1 and HTTP/2; without it: plain HTTP, on loopback only',
      ),
      keyFile: file.describe('the key of that certificate'),
    })
    .optional(),
  clientCaFile: file.optional().describe('callers by client certificate of this CA; needs TLS'),
  tokenFile: file
    .optional()
    .describe("callers by bearer token, in the form of the kube-apiserver's --token-auth-file"),
  oidc: oidcOptionsSchema.optional(),
  authorizationFile: file
    .optional()
    .describe('rules of who may do what on which cluster (YAML); with it, what no rule allows is forbidden'),
  identity: z
    .enum(identityModes)
    .optional()
    .describe('who a cluster sees; default: impersonate where callers are asked, else gateway'),
  clusterIdentity: z
    .record(z.string(), z.enum(identityModes))
    .default({})
    .describe('who a cluster sees, where it differs from that'),
  audit: z
    .strictObject({
      log: filePath
        .optional()
        .describe("audit log: one JSON line a request, appended to this file; '-' is stdout"),
      required: z
        .boolean()
        .default(false)
        .describe('refuse requests with 503 while the audit log cannot be written'),
      maxBufferBytes: z
        .int()
        .min(65_536)
        .max(1_073_741_824)
        .default(8_388_608)
        .describe('lines that wait to be written; what does not fit is lost and counted'),
    })
    .prefault({}),
  admin: z
    .strictObject({ host: z.string().min(1).default('127.0.0.1'), port: port.default(7480) })
    .prefault({})
    .describe('where health, metrics and state are shown, and sessions ended; it asks nobody who they are'),
  adminRemoteActions: z
    .boolean()
    .default(false)
    .describe(
      'whoever reaches the admin listener may end sessions; without it, who is on this machine, at a loopback address',
    ),
  upstreamAlpn: z
    .enum(upstreamAlpns)
    .default('auto')
    .describe(
      'HTTP towards clusters over TLS; auto: short requests over HTTP/1.1, watches and logs over HTTP/2 where a cluster offers it',
    ),
  upstreamProxyFromEnvironment: z
    .boolean()
    .default(false)
    .describe(
      'clusters whose kubeconfig names no proxy-url are reached through HTTPS_PROXY (HTTP_PROXY without TLS), but for NO_PROXY; without it, those variables change nothing',
    ),
  credentialPlugins: credentialPluginOptionsSchema.prefault({}),
  reloadIntervalMs: ms
    .default(30_000)
    .describe('longest time in which a change of a kubeconfig stays unseen where file events do not reach'),
  sessionsAfterRotation: z
    .enum(['drain', 'close'])
    .default('drain')
    .describe(
      'sessions of a cluster whose address or certificates have changed; drain: they go on until limits.sessionDrainTimeoutMs, close: they end at once',
    ),
  logLevel: z.enum(logLevels).default('info').describe('JSON lines on stdout from this level on'),
  limits: z
    .strictObject({
      // Longer than the 60 s for which balancers in front keep theirs.
      keepAliveTimeoutMs: ms
        .default(75_000)
        .describe("a client's connection without a request is closed after this time"),
      headTimeoutMs: ms.default(15_000).describe('for the head of a request, and for TLS handshakes'),
      maxHeadBytes: z.int().min(4_096).max(1_048_576).default(65_536).describe('largest head of a request'),
      uploadSilenceMs: ms.default(60_000).describe('longest break in a request body'),
      clientStallTimeoutMs: ms
        .default(600_000)
        .describe(
          'a client that takes nothing of its answer is cut after this time, and so is a session of which either side takes nothing',
        ),
      // A kube-apiserver ends them within the hour.
      watchLifetimeMs: ms
        .default(3_900_000)
        .describe('longest watch, where it does not say itself how long it wants to last'),
      drainTimeoutMs: ms
        .default(proxy.drainTimeoutMs)
        .describe(
          'at the end of the process, and when the address or the certificates of a cluster change: what is under way may go on for so long',
        ),
      requestTimeoutMs: ms
        .default(proxy.requestTimeoutMs)
        .describe('longest short request, from its head to the end of its answer'),
      dialTimeoutMs: ms
        .default(proxy.dialTimeoutMs)
        .describe('longest dial to a cluster: TCP and TLS together'),
      breakerThreshold: z
        .int()
        .min(0)
        .max(1_000_000)
        .default(proxy.breakerThreshold)
        .describe(
          'so many dials to a cluster that failed in a row, and it is not dialed for a while: 503 with Retry-After at once; 0: never',
        ),
      breakerRestMs: ms
        .default(proxy.breakerRestMs)
        .describe('for how long then; doubled with each further failure'),
      breakerMaxRestMs: ms
        .default(proxy.breakerMaxRestMs)
        .describe('longest time for which a cluster is not dialed'),
      maxConnectionsPerCluster: count
        .default(proxy.maxConnectionsPerHost)
        .describe('connections that short requests may use'),
      maxStreamsPerCluster: count
        .default(proxy.maxStreamsPerHost)
        .describe('watches, logs and other long-running requests'),
      maxStreamsPerConnection: count
        .default(proxy.maxStreamsPerConnection)
        .describe('requests on one HTTP/2 connection to a cluster; one more opens another'),
      pingAfterMs: z
        .int()
        .min(0)
        .max(2_147_483_647)
        .default(proxy.pingAfterMs)
        .describe(
          'an HTTP/2 connection to a cluster that carries something and is silent for so long is asked whether it lives (PING); 0: never',
        ),
      pingTimeoutMs: ms
        .default(proxy.pingTimeoutMs)
        .describe('without an answer for so long, such a connection and what it carries is given up'),
      http2BackOffMs: ms
        .default(proxy.http2BackOffMs)
        .describe('a cluster that agrees to HTTP/2 and does not speak it is asked over HTTP/1.1 for so long'),
      maxSessionsPerCluster: count
        .default(proxy.maxUpgradesPerHost)
        .describe('upgraded sessions: exec, attach, port-forward, WebSockets'),
      maxSessions: count.default(proxy.maxUpgrades).describe('upgraded sessions, over all clusters'),
      sessionDrainTimeoutMs: ms
        .default(proxy.upgradeDrainTimeoutMs)
        .describe('a session of a cluster whose address or credentials have changed may go on for so long'),
      drainSpreadMs: z
        .int()
        .min(0)
        .max(2_147_483_647)
        .default(proxy.drainSpreadMs)
        .describe(
          'after such a change: what is cut at its limit is cut over the last so many milliseconds of it, at most a quarter, and not all at once',
        ),
      sessionStallTimeoutMs: ms
        .default(600_000)
        .describe(
          'a session is cut when one side takes nothing of what waits for it, or answers no ping, for so long',
        ),
      sessionHalfClosedTimeoutMs: ms
        .default(300_000)
        .describe('a session of which one side has ended is cut when the other one says nothing for so long'),
      maxWaitingPerCluster: count
        .default(proxy.maxWaitingPerHost)
        .describe('requests that wait for a connection'),
      maxWaitMs: ms.default(proxy.maxWaitMs).describe('longest wait for a connection'),
      maxIdlePerCluster: count.default(proxy.maxIdlePerHost).describe('idle connections kept'),
      maxIdle: count.default(proxy.maxIdle).describe('idle connections kept, over all clusters'),
      idleTimeoutMs: ms
        .default(proxy.idleTimeoutMs)
        .describe('an idle connection to a cluster is closed after this time'),
      maxIdleTransports: count.default(proxy.maxIdleTransports).describe('transports kept that nothing uses'),
      maxTransports: count
        .default(proxy.maxTransports)
        .describe('transports in all; one more cluster is answered 503'),
    })
    .prefault({}),
});

/** And what excludes what. */
export const gatewayOptionsSchema = gatewayFieldsSchema.superRefine((options, context) => {
  const add = (path: string[], message: string): void => {
    context.addIssue({ code: 'custom', path, message });
  };
  const asksCallers =
    options.clientCaFile !== undefined || options.tokenFile !== undefined || options.oidc !== undefined;
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
      'without authentication only loopback is served: give a client CA, a token file or an OIDC issuer',
    );
  }
  if (options.authorizationFile !== undefined && !asksCallers) {
    add(
      ['authorizationFile'],
      'rules need to know who is calling: give a client CA, a token file or an OIDC issuer',
    );
  }
  for (const [path, mode] of [
    [['identity'], options.identity] as const,
    ...Object.entries(options.clusterIdentity).map(
      ([name, clusterMode]) => [['clusterIdentity', name], clusterMode] as const,
    ),
  ]) {
    if (mode === 'impersonate' && !asksCallers) {
      add(
        [...path],
        'impersonate needs to know who is calling: give a client CA, a token file or an OIDC issuer',
      );
    }
  }
  if (options.audit.required && options.audit.log === undefined) {
    add(['audit', 'required'], 'there is no audit log: name one');
  }
  const { policy, allowlist } = options.credentialPlugins;
  if ((policy === 'Allowlist') !== allowlist.length > 0) {
    add(
      ['credentialPlugins', 'allowlist'],
      policy === 'Allowlist'
        ? 'the policy Allowlist needs a list: name the plugins, or say DenyAll'
        : 'a list means something with the policy Allowlist only',
    );
  }
  if (options.limits.maxIdleTransports > options.limits.maxTransports) {
    add(['limits', 'maxIdleTransports'], 'cannot be larger than maxTransports');
  }
});

export type GatewayOptions = z.output<typeof gatewayOptionsSchema>;
export type GatewayOptionsInput = z.input<typeof gatewayOptionsSchema>;

/** @throws ERR_RH_OPTIONS_INVALID */
export function parseGatewayOptions(value: unknown): GatewayOptions {
  return parseOptions('the gateway', gatewayOptionsSchema, value);
}
