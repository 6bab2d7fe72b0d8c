/** An issuer as it is configured: its CA followed live, its keys kept, its tokens understood. The scope owns all of it. */

import type { Logger, Scope } from '@roundhouse/process';
import { TlsMaterial } from '@roundhouse/transport';
import type { TransportPool } from '@roundhouse/transport';
import { FollowedFile } from '../../followed-file.ts';
import type { FollowedSource } from '../../followed-file.ts';
import { IssuerKeys } from './issuer-keys.ts';
import type { OidcOptions } from './oidc-options.ts';
import { OidcTokens } from './oidc-tokens.ts';
import { VerifiedTokens } from './verified-tokens.ts';

/** About 5 MB. */
const maxVerifiedTokens = 10_000;

export interface OpenOidc {
  readonly tokens: OidcTokens;
  readonly keys: IssuerKeys;
  readonly files: readonly FollowedSource[];
}

/** @throws ERR_RH_FILE_UNUSABLE for the CA; an issuer that does not answer is no reason not to start */
export async function openOidc(
  options: OidcOptions,
  pool: TransportPool,
  scope: Scope,
  follow: { readonly intervalMs: number; readonly log: Logger },
): Promise<OpenOidc> {
  const { issuer, usernameClaim, usernamePrefix, groupsClaim } = options;
  const ca = await openIssuerCa(options, scope, follow);
  const verified = new VerifiedTokens(maxVerifiedTokens);
  const keys = scope.use(
    'issuer keys',
    IssuerKeys.open({
      issuer,
      pool,
      material: () => ca?.value ?? TlsMaterial.none,
      log: follow.log,
      onChange: () => verified.clear(),
    }),
  );
  const prefix = usernamePrefix ?? (usernameClaim === 'email' ? '' : `${issuer}#`);
  const rules = { ...options, groupsClaim, usernamePrefix: prefix === '-' ? '' : prefix };
  return {
    tokens: new OidcTokens(rules, keys, verified),
    keys,
    files: ca === undefined ? [] : [ca],
  };
}

/** @throws ERR_RH_FILE_UNUSABLE */
export async function openIssuerCa(
  { caFile }: Pick<OidcOptions, 'caFile'>,
  scope: Scope,
  follow: { readonly intervalMs: number; readonly log: Logger },
): Promise<FollowedFile<TlsMaterial> | undefined> {
  if (caFile === undefined) {
    return undefined;
  }
  const ca = await FollowedFile.open({
    ...follow,
    what: 'issuer CA',
    path: caFile,
    load: async (read) => TlsMaterial.fromPem({ ca: await read(caFile) }),
  });
  return scope.use('issuer CA', ca);
}
