/** The TLS side of a `RecordingServer`: what it presents, and what it asks its clients for. */

import tls from 'node:tls';
import type { HttpProtocol } from './recorded-request.ts';

export interface RecordingTlsOptions {
  readonly certPem: string;
  readonly keyPem: string;
  /** Client certificates are checked against it; the verdict is recorded, and nobody is turned away. */
  readonly clientCaPem?: string;
  /** Default: true when `clientCaPem` is given. */
  readonly requestClientCert?: boolean;
  /** False is a server that knows nothing of ALPN. Default: true, with `protocols` in their order of preference. */
  readonly alpn?: boolean;
  readonly minVersion?: tls.SecureVersion;
  readonly maxVersion?: tls.SecureVersion;
}

/** A TLS server that turns nobody away for a certificate: what the client showed is for the test to judge. */
export function tlsListener(options: RecordingTlsOptions, protocols: readonly HttpProtocol[]): tls.Server {
  const { clientCaPem, requestClientCert = clientCaPem !== undefined, alpn = true } = options;
  return tls.createServer({
    ...secureContext(options),
    noDelay: true,
    requestCert: requestClientCert,
    rejectUnauthorized: false,
    ...(alpn ? { ALPNProtocols: [...protocols] } : {}),
  });
}

export function secureContext(options: RecordingTlsOptions): tls.SecureContextOptions {
  const { certPem, keyPem, clientCaPem, minVersion, maxVersion } = options;
  return {
    cert: certPem,
    key: keyPem,
    ...(clientCaPem === undefined ? {} : { ca: clientCaPem }),
    ...(minVersion === undefined ? {} : { minVersion }),
    ...(maxVersion === undefined ? {} : { maxVersion }),
  };
}
