/** What the admin listener shows beside health and metrics. JSON with a schema version; times in RFC 3339; no secrets. */

import type { AdminRoute } from '@roundhouse/process';
import { RoundhouseError } from '@roundhouse/transport';
import type { MaterialPartStatus, PoolSnapshot } from '@roundhouse/transport';
import { explainAccess, listAccess, readAccessQuestion } from '../authorization/explain-access.ts';
import type { Policy } from '../authorization/policy.ts';
import type { Cluster } from '../clusters/cluster.ts';
import type { NameConflict } from '../clusters/cluster-registry.ts';
import type { OpenSessions } from '../sessions/open-sessions.ts';
import { json, schemaVersion } from './debug-answer.ts';
import { describeSession } from './debug-sessions.ts';

export interface DebugSources {
  /** Where clients come in; undefined before the listener is open. */
  readonly url: () => string | undefined;
  readonly clusters: () => Iterable<Cluster>;
  readonly conflicts: () => readonly NameConflict[];
  readonly pool: () => PoolSnapshot;
  readonly sessions: OpenSessions;
  /** Undefined where there is no authorisation file. */
  readonly policy: (() => Policy) | undefined;
  readonly sources: () => Iterable<{ readonly path: string; readonly error: Error | undefined }>;
}

export function debugRoutes(from: DebugSources): Readonly<Record<string, AdminRoute>> {
  return {
    // Questions about anybody, for those who run the gateway.
    '/debug/authorization': ({ searchParams }) => {
      const question = readAccessQuestion(searchParams);
      const policy = from.policy?.();
      return json({
        schemaVersion,
        ...(searchParams.has('list')
          ? { rules: listAccess(policy, question, question.cluster === '' ? undefined : question.cluster) }
          : explainAccess(policy, question)),
      });
    },
    '/debug/sessions': () => json({ schemaVersion, sessions: Array.from(from.sessions, describeSession) }),
    '/debug/transports': () => json({ schemaVersion, ...from.pool() }),
    '/debug/clusters': () =>
      json({
        schemaVersion,
        url: from.url() ?? null,
        clusters: [...from.clusters()].map(describeCluster),
        sources: [...from.sources()].map(({ path, error }) => ({
          path,
          state: error === undefined ? 'good' : 'stale',
          lastError: error === undefined ? null : describeError(error),
        })),
        conflicts: from.conflicts(),
      }),
  };
}

function describeCluster(cluster: Cluster): Record<string, unknown> {
  const { lastError } = cluster;
  return {
    name: cluster.name,
    path: `/clusters/${cluster.pathName}`,
    state: cluster.state,
    server: cluster.server ?? null,
    insecure: cluster.insecure,
    identity: cluster.identityMode,
    source: cluster.source,
    certificateExpiresAt: cluster.certificateExpiresAt?.toISOString() ?? null,
    caExpiresAt: cluster.caExpiresAt?.toISOString() ?? null,
    lastAnswerAt: cluster.lastAnswerAt?.toISOString() ?? null,
    lastError:
      lastError === undefined
        ? null
        : { code: lastError.code, message: lastError.message, at: lastError.at.toISOString() },
    inFlight: cluster.inFlight,
    generation: cluster.generation,
    credential: describeCredential(cluster),
    material: { ca: describePart(cluster.material?.ca), pair: describePart(cluster.material?.pair) },
    // What is not known before the first connection is null.
    protocols: { unary: cluster.protocols.unary ?? null, stream: cluster.protocols.stream ?? null },
  };
}

function describeCredential({ credential: { kind, expiresAt, error } }: Cluster): Record<string, unknown> {
  return {
    kind,
    expiresAt: expiresAt?.toISOString() ?? null,
    lastError: error === undefined ? null : describeError(error),
  };
}

/** Null for a part that the cluster is reached without. */
function describePart(part: MaterialPartStatus | undefined): Record<string, unknown> | null {
  if (part === undefined) {
    return null;
  }
  const { generation, since, expiresAt, error, errorSince, badGenerations } = part;
  return {
    generation,
    since: since?.toISOString() ?? null,
    expiresAt: expiresAt?.toISOString() ?? null,
    badGenerations,
    lastError:
      error === undefined ? null : { ...describeError(error), at: errorSince?.toISOString() ?? null },
  };
}

function describeError(error: Error): { code: string; message: string } {
  return { code: RoundhouseError.is(error) ? error.code : 'ERR_RH_FILE_UNUSABLE', message: error.message };
}
