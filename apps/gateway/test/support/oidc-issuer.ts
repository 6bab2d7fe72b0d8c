/** An OIDC issuer: discovery and keys over TLS, and tokens of whatever kind a test is about. */

import { CompactSign, exportJWK, generateKeyPair } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import type { RecordingServer } from '@roundhouse/simulators';
import { listenUpstream } from './gateway-rig.ts';

export interface TokenOptions {
  /** Over the claims of a good token; undefined takes one away. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  readonly key?: SigningKey;
}

export interface SigningKey {
  readonly id: string;
  readonly algorithm: string;
  readonly privateKey: CryptoKey;
  readonly jwk: JWK;
}

export async function newKey(id: string, algorithm = 'ES256'): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(algorithm, { extractable: true });
  return {
    id,
    algorithm,
    privateKey,
    jwk: { ...(await exportJWK(publicKey)), kid: id, alg: algorithm, use: 'sig' },
  };
}

export class OidcIssuer implements AsyncDisposable {
  readonly server: RecordingServer;
  /** What the key set has. */
  keys: JWK[];
  /** What discovery says beside the usual. */
  discovery: Readonly<Record<string, unknown>> = {};
  status = 200;
  readonly #key: SigningKey;

  private constructor(server: RecordingServer, key: SigningKey) {
    this.server = server;
    this.#key = key;
    this.keys = [key.jwk];
  }

  static async listen(port = 0): Promise<OidcIssuer> {
    const issuer: { current: OidcIssuer | undefined } = { current: undefined };
    const server = await listenUpstream({
      port,
      handle: (exchange) =>
        exchange.respond(issuer.current?.answer(exchange.request.path) ?? { status: 503 }),
    });
    issuer.current = new OidcIssuer(server, await newKey('k1'));
    return issuer.current;
  }

  get url(): string {
    return this.server.url;
  }

  get keyReads(): number {
    return this.server.requests.filter(({ path }) => path === '/keys').length;
  }

  answer(path: string): { status: number; body: string } {
    if (path === '/.well-known/openid-configuration') {
      const document = { issuer: this.url, jwks_uri: `${this.url}/keys`, ...this.discovery };
      return { status: this.status, body: JSON.stringify(document) };
    }
    return { status: path === '/keys' ? this.status : 404, body: JSON.stringify({ keys: this.keys }) };
  }

  /** A good token of user `jane` for the audience `roundhouse`, except for what is said. */
  async token({ claims = {}, header = {}, key = this.#key }: TokenOptions = {}): Promise<string> {
    const now = Math.floor(Date.now() / 1000);
    const payload = { iss: this.url, aud: 'roundhouse', sub: 'jane', iat: now, exp: now + 300, ...claims };
    return await new CompactSign(Buffer.from(JSON.stringify(payload)))
      .setProtectedHeader({ alg: key.algorithm, kid: key.id, ...header })
      .sign(key.privateKey);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}
