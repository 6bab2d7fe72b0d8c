/** One request with its answer, as it goes through the rooms; each room knows more of it than the one before. */
import { parse as parseYaml } from 'yaml';
import type { Exchange as WireExchange } from '../exchange.ts';
import { ApiError } from './api-error.ts';
import type { Caller } from './authentication.ts';
import { parseJson } from './json.ts';
import type { Json } from './json.ts';
import { decodeProtobufObject, protobufType } from './protobuf/envelope.ts';
import type { Reply } from './reply.ts';

export interface Exchange {
  readonly wire: WireExchange;
  readonly reply: Reply;
  /** Of the path, in raw form. */
  readonly path: string;
  readonly query: URLSearchParams;
}

export interface AuthenticatedExchange extends Exchange {
  readonly caller: Caller;
}

/** As the real server. */
export const bodyLimitBytes = 3 * 1024 * 1024;

export function splitTarget(target: string): { path: string; query: URLSearchParams } {
  const mark = target.indexOf('?');
  return mark < 0
    ? { path: target, query: new URLSearchParams() }
    : { path: target.slice(0, mark), query: new URLSearchParams(target.slice(mark + 1)) };
}

/** Empty when the request has none; the first of several. */
export function header({ wire }: Exchange, name: string): string {
  return wire.request.headerValues(name)[0] ?? '';
}

/** The media type of the body, without parameters; empty when none is given. */
export function contentType(exchange: Exchange): string {
  return header(exchange, 'content-type').split(';')[0]?.trim().toLowerCase() ?? '';
}

/** The forms in which an object may be sent. */
const objectTypes: readonly string[] = ['application/json', 'application/yaml', protobufType];

/** Undefined when there is no body. Throws 413, 415 or BadRequest. */
export async function readBody(
  exchange: Exchange,
  accepted: readonly string[] = objectTypes,
): Promise<Json | undefined> {
  const bytes = await readBytes(exchange);
  if (bytes.length === 0) return undefined;
  const type = contentType(exchange) || 'application/json';
  if (!accepted.includes(type)) throw ApiError.unsupportedMediaType(accepted);
  if (type === protobufType) return decodeProtobufObject(bytes);
  try {
    return type === 'application/yaml'
      ? parseJson(JSON.stringify(parseYaml(bytes.toString())))
      : parseJson(bytes.toString());
  } catch (error) {
    throw ApiError.badRequest(
      `the object provided is unrecognized: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}

export async function readBytes({ wire }: Exchange): Promise<Buffer> {
  const body = await wire.readBody();
  if (wire.request.bodyBytes > bodyLimitBytes) throw ApiError.tooLarge(bodyLimitBytes);
  return body;
}
