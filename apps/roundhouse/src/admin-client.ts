// Asks the gateway's admin listener. One request a connection: a command ends as soon as it has its answer.

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { CommandError } from './command-error.ts';
import { printable } from './output/printable.ts';

export const defaultAdminUrl = 'http://127.0.0.1:7480';

/** More than this is no answer of ours. */
const maxAnswerBytes = 64 * 1024 * 1024;

export interface AdminRequest {
  /** Base URL of the admin listener. */
  readonly url: string;
  readonly path: string;
  /** Default: GET, to look at something. POST: to do something. */
  readonly method?: 'GET' | 'POST';
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The gateway said no, with a code of its catalogue. */
export class AdminRefusal extends CommandError {
  readonly code: string;

  constructor(code: string, message: string) {
    super('finding', message);
    this.name = 'AdminRefusal';
    this.code = code;
  }
}

/** The JSON answer, unparsed by shape. Throws a CommandError that says what to do. */
export async function askAdmin(asked: AdminRequest): Promise<unknown> {
  const { url, path, method = 'GET', timeoutMs, signal } = asked;
  const target = adminUrl(url, path);
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const { status, body } = await send(method, target, AbortSignal.any([signal, limit]));
    if (status !== 200) {
      throw refusalOf(target, status, body);
    }
    return parseJson(body, target);
  } catch (error) {
    if (signal.aborted || error instanceof CommandError) throw error;
    if (limit.aborted) {
      throw new CommandError('timeLimit', `${target.origin} did not answer within ${timeoutMs / 1000} s`, {
        cause: error,
      });
    }
    throw new CommandError(
      'unreachable',
      `no gateway answers at ${target.origin} (${reasonOf(error)}); start one with "roundhouse gateway", or say where it is with --admin`,
      { cause: error },
    );
  }
}

function adminUrl(url: string, path: string): URL {
  const base = URL.parse(url);
  if (base === null || !['http:', 'https:'].includes(base.protocol)) {
    throw new CommandError('usage', `--admin "${url}" is not an http:// or https:// URL`);
  }
  return new URL(path, base);
}

async function send(
  method: string,
  target: URL,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const request = target.protocol === 'https:' ? requestHttps : requestHttp;
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      target,
      { method, agent: false, signal, headers: { accept: 'application/json' } },
      (response) => {
        let bytes = 0;
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length;
          if (bytes > maxAnswerBytes) response.destroy(new Error('its answer is too large'));
        });
        text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end();
  });
}

function refusalOf(target: URL, status: number, body: string): CommandError {
  const { code, message } = errorIn(body);
  if (code !== undefined && message !== undefined) return new AdminRefusal(code, printable(message));
  if (status === 403) {
    // In words, for whoever asks.
    return new CommandError('finding', `${target.origin} refused: ${printable(body.trim()).slice(0, 400)}`);
  }
  return new CommandError(
    'finding',
    `${target.href} answered ${status}; is it the admin listener of a gateway?`,
  );
}

function errorIn(body: string): { code?: string; message?: string } {
  const answer = jsonOrNothing(body);
  if (!isObject(answer) || !isObject(answer['error'])) return {};
  const { code, message } = answer['error'];
  return typeof code === 'string' && typeof message === 'string' ? { code, message } : {};
}

function jsonOrNothing(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // Then it is no answer of ours, which is all that is asked here.
    return undefined;
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function parseJson(body: string, target: URL): unknown {
  try {
    return JSON.parse(body);
  } catch (cause) {
    throw new CommandError(
      'finding',
      `${target.href} did not answer in JSON; is it the admin listener of a gateway?`,
      { cause },
    );
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && error.code === 'ECONNREFUSED' ? 'connection refused' : error.message;
}
