/** Certificate, key and client authorities of the listener, followed live. Pair and bundle change apart from each other. */

import type { Scope } from '@roundhouse/process';
import { TlsMaterial } from '@roundhouse/transport';
import { ClientCa } from '../authentication/client-ca.ts';
import type { WatchedCertificate } from '../observability/expiry-watch.ts';
import { FollowedFile } from '../followed-file.ts';
import type { FollowedFileOptions, FollowedSource } from '../followed-file.ts';
import type { GatewayOptions } from '../options.ts';
import type { FrontTls } from './front-listener.ts';

interface Pair {
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly material: TlsMaterial;
}

export interface ListenerFiles {
  /** As they are now; undefined for plain HTTP. */
  readonly tls: () => FrontTls | undefined;
  readonly clientCa: (() => ClientCa) | undefined;
  readonly files: readonly FollowedSource[];
  /** What it shows itself by, as it is now. */
  readonly certificates: () => readonly WatchedCertificate[];
}

/** @throws ERR_RH_FILE_UNUSABLE */
export async function openListenerFiles(
  { tls, clientCaFile }: Pick<GatewayOptions, 'tls' | 'clientCaFile'>,
  scope: Scope,
  follow: Pick<FollowedFileOptions<unknown>, 'intervalMs' | 'log'> & { readonly onChange: () => void },
): Promise<ListenerFiles> {
  if (tls === undefined) {
    return { tls: () => undefined, clientCa: undefined, files: [], certificates: () => [] };
  }
  const pair = scope.use(
    'serving certificate',
    await FollowedFile.open<Pair>({
      ...follow,
      what: 'serving certificate',
      path: tls.certFile,
      load: async (read) => {
        const [cert, key] = await Promise.all([read(tls.certFile), read(tls.keyFile)]);
        // Says whether the two belong together.
        return { cert, key, material: TlsMaterial.fromPem({ cert, key }) };
      },
    }),
  );
  const ca =
    clientCaFile === undefined ? undefined : scope.use('client CA', await openClientCa(clientCaFile, follow));
  return {
    tls: () => ({ cert: pair.value.cert, key: pair.value.key, clientCa: ca?.value.pem }),
    clientCa: ca === undefined ? undefined : () => ca.value,
    files: ca === undefined ? [pair] : [pair, ca],
    certificates: () => {
      const { certExpiresAt: expiresAt, certValidFrom: validFrom } = pair.value.material;
      return expiresAt === undefined || validFrom === undefined
        ? []
        : [{ fields: { source: tls.certFile }, expiresAt, validFrom }];
    },
  };
}

function openClientCa(
  path: string,
  follow: Pick<FollowedFileOptions<unknown>, 'intervalMs' | 'log' | 'onChange'>,
): Promise<FollowedFile<ClientCa>> {
  return FollowedFile.open({
    ...follow,
    what: 'client CA',
    path,
    load: async (read) => ClientCa.parse(await read(path)),
  });
}
