/**
 * A certificate authority in memory, so that every test makes exactly the trust that it is about: the wrong name, the expired
 * certificate, the second authority, the client certificate with two groups. Nothing touches the disk, and nothing outlives the
 * object; two authorities of the same name are still two, since each has its own key.
 */

// Has to be evaluated before @peculiar/x509, whose dependency injection asks for Reflect.getMetadata as it loads.
// oxlint-disable-next-line import/no-unassigned-import -- its effect is its whole purpose
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { randomBytes, type webcrypto } from 'node:crypto';

/** Clusters in the field still come with RSA authorities; ECDSA is the default because its keys are made in no time. */
export type KeyAlgorithm = 'ecdsa-p256' | 'rsa-2048';

/** What a certificate may be used for: its extended key usages. */
export type CertificateUsage = 'server' | 'client' | 'both';

export interface CertificateAuthorityOptions {
  /** Common name of the authority itself. Default: `Roundhouse test authority`. */
  readonly name?: string;
  /** For the authority's key and for every key it makes. Default: `ecdsa-p256`. */
  readonly keyAlgorithm?: KeyAlgorithm;
}

export interface CertificateRequest {
  /** Kubernetes reads the user's name from it. */
  readonly commonName: string;
  /** Kubernetes reads the user's groups from them, in this order. */
  readonly organizations?: readonly string[];
  /** Names the certificate is good for. With neither names nor addresses a server's is good for localhost and loopback. */
  readonly dnsNames?: readonly string[];
  /** IPv4 or IPv6 addresses the certificate is good for. */
  readonly ipAddresses?: readonly string[];
  /** Default: an hour ago. */
  readonly notBefore?: Date;
  /** Default: a day from now. */
  readonly notAfter?: Date;
  readonly usage: CertificateUsage;
}

/** A certificate with its key, ready for `tls.createSecureContext`. */
export interface IssuedCertificate {
  /** The certificate, followed by the intermediate authorities that lead to the root (which is left out, as servers do). */
  readonly certPem: string;
  /** PKCS#8. */
  readonly keyPem: string;
}

const signingHash = 'SHA-256';
const extendedKeyUsages: Readonly<Record<CertificateUsage, readonly x509.ExtendedKeyUsage[]>> = {
  server: [x509.ExtendedKeyUsage.serverAuth],
  client: [x509.ExtendedKeyUsage.clientAuth],
  both: [x509.ExtendedKeyUsage.serverAuth, x509.ExtendedKeyUsage.clientAuth],
};
const hourMs = 3_600_000;
const dayMs = 24 * hourMs;

export class CertificateAuthority {
  /** Common name of the authority. */
  readonly name: string;
  /** The authority's own certificate: what a peer has to trust. For an intermediate it is not the root's. */
  readonly certificatePem: string;

  readonly #keyAlgorithm: KeyAlgorithm;
  readonly #keys: webcrypto.CryptoKeyPair;
  readonly #certificate: x509.X509Certificate;
  /** Sent along with every certificate issued: this authority and those above it, without the root. */
  readonly #intermediates: readonly string[];

  private constructor(
    name: string,
    keyAlgorithm: KeyAlgorithm,
    keys: webcrypto.CryptoKeyPair,
    certificate: x509.X509Certificate,
    intermediates: readonly string[],
  ) {
    this.name = name;
    this.certificatePem = pem(certificate);
    this.#keyAlgorithm = keyAlgorithm;
    this.#keys = keys;
    this.#certificate = certificate;
    this.#intermediates = intermediates;
  }

  /** A new root with a new key. */
  static async create(options: CertificateAuthorityOptions = {}): Promise<CertificateAuthority> {
    const { name = 'Roundhouse test authority', keyAlgorithm = 'ecdsa-p256' } = options;
    const keys = await generateKeys(keyAlgorithm);
    const subject = distinguishedName(name);
    const certificate = await x509.X509CertificateGenerator.create({
      ...authorityTerms(),
      subject,
      issuer: subject,
      publicKey: keys.publicKey,
      signingKey: keys.privateKey,
      signingAlgorithm: signingAlgorithm(keyAlgorithm),
      extensions: await authorityExtensions(keys.publicKey, keys.publicKey),
    });
    return new CertificateAuthority(name, keyAlgorithm, keys, certificate, []);
  }

  /** An authority signed by this one. What it issues carries the chain, so that peers need to trust the root only. */
  async intermediate(options: CertificateAuthorityOptions = {}): Promise<CertificateAuthority> {
    const { name = `${this.name}, intermediate`, keyAlgorithm = this.#keyAlgorithm } = options;
    const keys = await generateKeys(keyAlgorithm);
    const certificate = await x509.X509CertificateGenerator.create({
      ...authorityTerms(),
      ...this.#signature(),
      subject: distinguishedName(name),
      publicKey: keys.publicKey,
      extensions: await authorityExtensions(keys.publicKey, this.#keys.publicKey),
    });
    return new CertificateAuthority(name, keyAlgorithm, keys, certificate, [
      pem(certificate),
      ...this.#intermediates,
    ]);
  }

  /** A certificate with a fresh key. */
  async issue(request: CertificateRequest): Promise<IssuedCertificate> {
    const keys = await generateKeys(this.#keyAlgorithm);
    const certificate = await x509.X509CertificateGenerator.create({
      ...this.#signature(),
      serialNumber: serialNumber(),
      notBefore: request.notBefore ?? new Date(Date.now() - hourMs),
      notAfter: request.notAfter ?? new Date(Date.now() + dayMs),
      subject: distinguishedName(request.commonName, request.organizations),
      publicKey: keys.publicKey,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(
          x509.KeyUsageFlags.digitalSignature | x509.KeyUsageFlags.keyEncipherment,
          true,
        ),
        new x509.ExtendedKeyUsageExtension([...extendedKeyUsages[request.usage]]),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
        await x509.AuthorityKeyIdentifierExtension.create(this.#keys.publicKey),
        ...subjectAlternativeNames(request),
      ],
    });
    const pkcs8 = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
    return {
      certPem: [pem(certificate), ...this.#intermediates].join(''),
      keyPem: `${x509.PemConverter.encode(pkcs8, 'PRIVATE KEY')}\n`,
    };
  }

  #signature() {
    return {
      issuer: this.#certificate.subjectName,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: signingAlgorithm(this.#keyAlgorithm),
    };
  }
}

async function generateKeys(algorithm: KeyAlgorithm): Promise<webcrypto.CryptoKeyPair> {
  const parameters =
    algorithm === 'ecdsa-p256'
      ? { name: 'ECDSA', namedCurve: 'P-256' }
      : {
          name: 'RSASSA-PKCS1-v1_5',
          hash: signingHash,
          modulusLength: 2048,
          publicExponent: new Uint8Array([1, 0, 1]),
        };
  return crypto.subtle.generateKey(parameters, true, ['sign', 'verify']);
}

/** Says how an authority signs; the key that is signed may be of the other kind. */
function signingAlgorithm(algorithm: KeyAlgorithm) {
  return algorithm === 'ecdsa-p256'
    ? { name: 'ECDSA', hash: signingHash }
    : { name: 'RSASSA-PKCS1-v1_5', hash: signingHash };
}

function authorityTerms() {
  return {
    serialNumber: serialNumber(),
    notBefore: new Date(Date.now() - dayMs),
    notAfter: new Date(Date.now() + 3650 * dayMs),
  };
}

async function authorityExtensions(
  subjectKey: webcrypto.CryptoKey,
  issuerKey: webcrypto.CryptoKey,
): Promise<x509.Extension[]> {
  return [
    new x509.BasicConstraintsExtension(true, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
    await x509.SubjectKeyIdentifierExtension.create(subjectKey),
    await x509.AuthorityKeyIdentifierExtension.create(issuerKey),
  ];
}

function subjectAlternativeNames(request: CertificateRequest): x509.Extension[] {
  let { dnsNames = [], ipAddresses = [] } = request;
  if (dnsNames.length + ipAddresses.length === 0) {
    if (request.usage === 'client') return [];
    dnsNames = ['localhost'];
    ipAddresses = ['127.0.0.1', '::1'];
  }
  return [
    new x509.SubjectAlternativeNameExtension([
      ...dnsNames.map((value) => ({ type: 'dns' as const, value })),
      ...ipAddresses.map((value) => ({ type: 'ip' as const, value })),
    ]),
  ];
}

/** Values are given apart from their types, so that a comma or an equals sign in a name stays a part of that name. */
function distinguishedName(commonName: string, organizations: readonly string[] = []): x509.Name {
  return new x509.Name([
    ...organizations.map((organization) => ({ O: [{ utf8String: organization }] })),
    { CN: [{ utf8String: commonName }] },
  ]);
}

/** 16 random bytes, of which the first is neither zero nor negative: DER would need another length otherwise. */
function serialNumber(): string {
  const bytes = randomBytes(16);
  bytes.writeUInt8((bytes.readUInt8() & 0x3f) | 0x40);
  return bytes.toString('hex');
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}
