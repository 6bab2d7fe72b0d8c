/** What the gateway listens with and lets callers in by. Each of its files is followed live; the scope owns the following. */

import type { Logger, Scope } from '@roundhouse/process';
import { Authenticator } from './authentication/authenticator.ts';
import { openTokenFile } from './authentication/open-token-file.ts';
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
  readonly files: readonly FollowedSource[];
}

/** @throws ERR_RH_FILE_UNUSABLE */
export async function openFront(
  options: GatewayOptions,
  log: Logger,
  scope: Scope,
  onTlsChange: () => void,
): Promise<Front> {
  const follow = { intervalMs: options.reloadIntervalMs, log };
  const { tls, clientCa, files } = await openListenerFiles(options, scope, {
    ...follow,
    onChange: onTlsChange,
  });
  const { tokenFile, authorizationFile } = options;
  const tokens =
    tokenFile === undefined ? undefined : scope.use('token file', await openTokenFile(tokenFile, follow));
  const rules =
    authorizationFile === undefined
      ? undefined
      : scope.use('authorisation file', await openAuthorizationFile(authorizationFile, follow));
  const policy = rules === undefined ? undefined : () => rules.value;
  return {
    tls,
    authenticator: new Authenticator({
      clientCa,
      tokens: tokens === undefined ? undefined : () => tokens.value,
    }),
    authorizer: policy === undefined ? leaveToClusters : new PolicyAuthorizer(policy),
    policy,
    files: [...files, ...[tokens, rules].filter((file) => file !== undefined)],
  };
}
