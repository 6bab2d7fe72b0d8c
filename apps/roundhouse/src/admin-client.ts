// Asks the gateway's admin listener. One request a connection: a command ends as soon as it has its answer.

import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { text } from 'node:stream/consumers';
import { CommandError } from './command-error.ts';

export const defaultAdminUrl = 'http://127.0.0.1:7480';

/** More than this is no answer of ours. */
const maxAnswerBytes = 64 * 1024 * 1024;

export interface AdminRequest {
  /** Base URL of the admin listener. */
  readonly url: string;
  readonly path: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** The JSON answer, unparsed by shape. Throws a CommandError that says what to do. */
export async function askAdmin({ url, path, timeoutMs, signal }: AdminRequest): Promise<unknown> {
  const target = adminUrl(url, path);
  const limit = AbortSignal.timeout(timeoutMs);
  try {
    const { status, body } = await get(target, AbortSignal.any([signal, limit]));
    if (status !== 200) {
      throw new CommandError(
        'finding',
        `${target.href} answered ${status}; is it the admin listener of a gateway?`,
      );
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

async function get(target: URL, signal: AbortSignal): Promise<{ status: number; body: string }> {
  const request = target.protocol === 'https:' ? requestHttps : requestHttp;
  return await new Promise((resolve, reject) => {
    const outgoing = request(
      target,
      { agent: false, signal, headers: { accept: 'application/json' } },
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
