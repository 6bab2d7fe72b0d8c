/** Codes of errors that say something about a cluster or the way to it, and not about who asked. */
export const contactFailures: ReadonlySet<string> = new Set([
  'ERR_RH_DIAL_FAILED',
  'ERR_RH_DIAL_TIMEOUT',
  'ERR_RH_PROXY_FAILED',
  'ERR_RH_PROXY_AUTH',
  'ERR_RH_PROXY_REFUSED',
  'ERR_RH_TLS_UNTRUSTED',
  'ERR_RH_TLS_FAILED',
  'ERR_RH_ALPN_MISMATCH',
  'ERR_RH_PROTOCOL_REFUSED',
  'ERR_RH_RESPONSE_INVALID',
  'ERR_RH_UPSTREAM_CREDENTIAL_REFUSED',
  'ERR_RH_UPSTREAM_REDIRECT',
]);
