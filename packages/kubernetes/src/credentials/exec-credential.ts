/**
 * What an exec plugin prints: an `ExecCredential` of the group client.authentication.k8s.io, read by the rules of client-go.
 * Nothing of it is quoted in a message, since any of it may be a secret.
 */

import { RoundhouseError, TlsMaterial } from '@roundhouse/transport';
import { KubernetesError } from '../errors.ts';
import { YamlTextError, parseYamlText } from '../yaml-text.ts';
import { bearerTokenIn } from './bearer-token.ts';
import { PresentCredential } from './present-credential.ts';
import type { ClientPair } from './present-credential.ts';

export const execApiVersions = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
] as const;

export type ExecApiVersion = (typeof execApiVersions)[number];

/**
 * @param apiVersion that it was asked in, and must answer in
 * @throws ERR_RH_EXEC_CREDENTIAL_INVALID
 */
export function parseExecCredential(output: Uint8Array, apiVersion: ExecApiVersion): PresentCredential {
  const root = mapping(parse(output), 'it');
  if (textOf(root, 'kind') !== 'ExecCredential') {
    throw invalid('its kind is not ExecCredential');
  }
  const version = textOf(root, 'apiVersion');
  if (version !== apiVersion) {
    const other = execApiVersions.find((known) => known === version) ?? 'another one';
    throw invalid(`it was asked for apiVersion ${apiVersion} and answered with ${other}`);
  }
  if (root['status'] === undefined || root['status'] === null) {
    throw invalid('it has no status');
  }
  const status = mapping(root['status'], 'its status');
  const token = textOf(status, 'token');
  const cert = textOf(status, 'clientCertificateData');
  const key = textOf(status, 'clientKeyData');
  if (token === undefined && cert === undefined && key === undefined) {
    throw invalid('it has neither a token nor a client certificate');
  }
  const clientPair = pairOf(cert, key);
  const says = expiry(textOf(status, 'expirationTimestamp'));
  return new PresentCredential({
    token: token === undefined ? undefined : tokenOf(token),
    clientPair,
    expiresAt: earliest(says, clientPair === undefined ? undefined : certificateEnd(clientPair)),
  });
}

function parse(output: Uint8Array): unknown {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(output);
  } catch {
    throw invalid('it is not UTF-8 text');
  }
  if (text.trim() === '') {
    throw invalid('it is empty');
  }
  try {
    // YAML, too, as for client-go.
    return parseYamlText(text);
  } catch (error) {
    throw error instanceof YamlTextError ? invalid(`it is neither JSON nor YAML (${error.message})`) : error;
  }
}

function pairOf(cert: string | undefined, key: string | undefined): ClientPair | undefined {
  if (cert === undefined && key === undefined) {
    return undefined;
  }
  if (cert === undefined || key === undefined) {
    throw invalid(
      `it has a client ${cert === undefined ? 'key and no certificate' : 'certificate and no key'}`,
    );
  }
  return { cert, key };
}

function certificateEnd(pair: ClientPair): Date | undefined {
  try {
    return TlsMaterial.fromPem(pair).certExpiresAt;
  } catch (error) {
    throw RoundhouseError.is(error) ? invalid(error.message, error) : error;
  }
}

function tokenOf(text: string): string {
  const token = bearerTokenIn(text);
  if (token === undefined) {
    throw invalid('its token has characters that a token cannot have');
  }
  return token;
}

/** RFC 3339, as Go writes and reads `metav1.Time`. */
function expiry(text: string | undefined): Date | undefined {
  if (text === undefined) {
    return undefined;
  }
  const date = new Date(text);
  if (!/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/.test(text) || !isValid(date)) {
    throw invalid('its expirationTimestamp is not a time of RFC 3339');
  }
  return date;
}

function isValid(date: Date): boolean {
  return !Number.isNaN(date.getTime());
}

function earliest(left: Date | undefined, right: Date | undefined): Date | undefined {
  return left === undefined || (right !== undefined && right < left) ? right : left;
}

/** Empty text counts as absent, as in Go. */
function textOf(fields: Readonly<Record<string, unknown>>, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (value === undefined || value === null || value === '') {
    return undefined;
  }
  if (typeof value !== 'string') {
    throw invalid(`its ${name} is not text`);
  }
  return value;
}

function mapping(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (!isMapping(value)) {
    throw invalid(`${what} is not a mapping`);
  }
  return value;
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(reason: string, cause?: unknown): KubernetesError {
  return new KubernetesError(
    'ERR_RH_EXEC_CREDENTIAL_INVALID',
    `the output of the credential plugin cannot be used: ${reason}`,
    { cause },
  );
}
