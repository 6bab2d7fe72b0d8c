import { Gateway } from '@roundhouse/gateway';
import { DemoError } from './demo-error.ts';
import type { DemoOptions } from './options.ts';

export interface GatewayInFront extends DemoOptions {
  readonly files: {
    /** Kubeconfig with the clusters to serve. */
    readonly clusters: string;
    readonly certificate: string;
    readonly key: string;
    readonly tokens: string;
    readonly authorization: string;
  };
}

/** A person watches: watches that still run when the demo is stopped are cut rather than waited for. */
const drainTimeoutMs = 500;

/** On loopback, over TLS, since kubectl sends a token over nothing else. Silent: what happens is seen through its admin listener. */
export async function openGateway({
  port,
  adminPort,
  sessionDrainSeconds,
  files,
}: GatewayInFront): Promise<Gateway> {
  const host = '127.0.0.1';
  try {
    return await Gateway.open({
      kubeconfigs: [files.clusters],
      listen: { host, port },
      tls: { certFile: files.certificate, keyFile: files.key },
      tokenFile: files.tokens,
      authorizationFile: files.authorization,
      admin: { host, port: adminPort },
      logLevel: 'silent',
      limits: { drainTimeoutMs, sessionDrainTimeoutMs: sessionDrainSeconds * 1_000 },
    });
  } catch (error) {
    for (const [flag, taken] of [['--port', port] as const, ['--admin-port', adminPort] as const]) {
      if (!isTaken(error, taken)) continue;
      throw new DemoError(`port ${taken} is taken; choose another one with: npm start -- ${flag} NUMBER`, {
        cause: error,
      });
    }
    throw error;
  }
}

function isTaken(error: unknown, port: number): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return (
    cause instanceof Error &&
    'code' in cause &&
    cause.code === 'EADDRINUSE' &&
    'port' in cause &&
    cause.port === port
  );
}
