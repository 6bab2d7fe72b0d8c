/** When a token says that it ends. A hint and no more: it is the server that knows, and the token is not verified here. */

/** The claim `exp` of a JWT (RFC 7519, section 4.1.4), as service account tokens are; undefined for any other token. */
export function endOfToken(token: string): Date | undefined {
  const [, payload, signature, ...more] = token.split('.');
  if (payload === undefined || signature === undefined || more.length > 0) {
    return undefined;
  }
  let claims: unknown;
  try {
    claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
  } catch {
    // Three parts that look like a JWT and are none.
    return undefined;
  }
  if (typeof claims !== 'object' || claims === null || !('exp' in claims) || typeof claims.exp !== 'number') {
    return undefined;
  }
  const end = new Date(claims.exp * 1000);
  return Number.isNaN(end.getTime()) ? undefined : end;
}
