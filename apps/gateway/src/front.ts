/** What the gateway listens with and lets callers in by. Each of its files is followed live; the scope owns the following. */

import type { Logger, Scope } from '@roundhouse/process';
import type { TransportPool } from '@roundhouse/transport';
import { Authenticator } from './authentication/authenticator.ts';
import { openTokenFile } from './authentication/open-token-file.ts';
import type { IssuerKeys } from './authentication/oidc/issuer-keys.ts';
import { openOidc } from './authentication/oidc/open-oidc.ts';
import { openAuthorizationFile } from './authorization/authorization-file.ts';
import { PolicyAuthorizer, leaveToClusters } from './authorization/authorizer.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import type { Policy } from './authorization/policy.ts';
import type { FollowedSource } from './followed-file.ts';
import { openListenerFiles } from './listener/listener-files.ts';
import type { ListenerFiles } from './listener/listener-files.ts';
import type { GatewayOptions } from './options.ts';

export interface Front {
  readonly tls: ListenerFiles['tls'];
  readonly authenticator: Authenticator;
  readonly authorizer: Authorizer;
  /** Undefined without an authorisation file. */
  readonly policy: (() => Policy) | undefined;
  /** Undefined without an OIDC issuer. */
  readonly issuerKeys: IssuerKeys | undefined;
  readonly files: readonly FollowedSource[];
  readonly certificates: ListenerFiles['certificates'];
}

/** Whoever must know of changes. */
export interface FrontChanges {
  /** Of what the listener shows itself by, or whom it asks for certificates. */
  readonly tls: () => void;
  /** Of who is let in, or of what callers may do. */
  readonly callers: () => void;
}

/** @throws ERR_RH_FILE_UNUSABLE */
export async function openFront(
  options: GatewayOptions,
  log: Logger,
  scope: Scope,
  pool: TransportPool,
  onChange: FrontChanges,
): Promise<Front> {
  const follow = { intervalMs: options.reloadIntervalMs, log };
  const { tls, clientCa, files, certificates } = await openListenerFiles(options, scope, {
    ...follow,
    onChange: () => {
      onChange.tls();
      onChange.callers();
    },
  });
  const { tokenFile, authorizationFile } = options;
  const tokens =
    tokenFile === undefined
      ? undefined
      : scope.use('token file', await openTokenFile(tokenFile, { ...follow, onChange: onChange.callers }));
  const issuer = options.oidc === undefined ? undefined : await openOidc(options.oidc, pool, scope, follow);
  const rules =
    authorizationFile === undefined
      ? undefined
      : scope.use(
          'authorisation file',
          await openAuthorizationFile(authorizationFile, { ...follow, onChange: onChange.callers }),
        );
  const policy = rules === undefined ? undefined : () => rules.value;
  return {
    tls,
    authenticator: new Authenticator({
      clientCa,
      tokens: tokens === undefined ? undefined : () => tokens.value,
      oidc: issuer?.tokens,
    }),
    authorizer: policy === undefined ? leaveToClusters : new PolicyAuthorizer(policy),
    policy,
    issuerKeys: issuer?.keys,
    certificates,
    files: [...files, ...[tokens, rules].filter((file) => file !== undefined), ...(issuer?.files ?? [])],
  };
}
