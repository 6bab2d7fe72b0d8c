/** Reads everything that a gateway would start with, and opens nothing: for `roundhouse gateway --check`. */

import { readFile } from 'node:fs/promises';
import { loadKubeconfig } from '@roundhouse/kubernetes';
import { ProcessError, Scope, createLogger } from '@roundhouse/process';
import { TransportPool } from '@roundhouse/transport';
import type { ProxyEnvironment } from '@roundhouse/transport';
import { openIssuerCa } from './authentication/oidc/open-oidc.ts';
import { execPolicyOf } from './clusters/credential-plugins.ts';
import { upstreamProxyOf } from './clusters/upstream-proxy.ts';
import { openFront } from './front.ts';
import { parseGatewayOptions } from './options.ts';
import type { GatewayOptionsInput } from './options.ts';

export interface GatewayCheck {
  /** Clusters that would be served. */
  readonly clusters: readonly string[];
  /** Contexts that would not be, each with its reason. */
  readonly refused: readonly { readonly name: string; readonly reason: string }[];
}

/** @throws ERR_RH_OPTIONS_INVALID, ERR_RH_PROXY_URL_INVALID, ERR_RH_FILE_UNUSABLE, ERR_RH_KUBECONFIG_INVALID */
export async function checkGateway(
  input: GatewayOptionsInput,
  { environment }: { readonly environment?: ProxyEnvironment | undefined } = {},
): Promise<GatewayCheck> {
  const { oidc, ...options } = parseGatewayOptions(input);
  upstreamProxyOf(options, environment);
  const follow = { intervalMs: options.reloadIntervalMs, log: createLogger({ level: 'silent' }) };
  await using scope = new Scope();
  const pool = new TransportPool({ profile: 'proxy' });
  scope.defer('transport pool', () => pool.close({ timeoutMs: 0 }));
  // Without the issuer: asking it would make the check depend on the network.
  await openFront({ ...options, oidc: undefined }, follow.log, scope, pool, {
    tls: () => undefined,
    callers: () => undefined,
  });
  if (oidc !== undefined) {
    await openIssuerCa(oidc, scope, follow);
  }
  const execPolicy = execPolicyOf(options.credentialPlugins);
  const clusters = new Set<string>();
  const refused: { name: string; reason: string }[] = [];
  for (const path of options.kubeconfigs) {
    const contexts = await loadKubeconfig(path, readFile, { execPolicy }).catch((cause: unknown) => {
      throw cause instanceof Error && 'syscall' in cause
        ? new ProcessError('ERR_RH_FILE_UNUSABLE', `cannot read the kubeconfig ${path}: ${cause.message}`, {
            cause,
          })
        : cause;
    });
    for (const [name, resolution] of contexts) {
      if ('refusal' in resolution) {
        refused.push({ name, reason: resolution.refusal.message });
      } else {
        clusters.add(name);
      }
    }
  }
  return { clusters: [...clusters], refused };
}
