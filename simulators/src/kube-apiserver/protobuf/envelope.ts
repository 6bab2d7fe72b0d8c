/**
 * `application/vnd.kubernetes.protobuf`: four magic bytes, then a runtime.Unknown with the type and the bytes of the object. Typed
 * clients of client-go send it, so kubectl does for `create` and `auth whoami`; answers may be JSON.
 */
import { ApiError } from '../api-error.ts';
import { objectAt, textAt } from '../json.ts';
import type { JsonObject } from '../json.ts';
import { decodeMessage } from './decode-message.ts';
import { message, one, text } from './message-schema.ts';
import { objectMessages } from './object-messages.ts';

export const protobufType = 'application/vnd.kubernetes.protobuf';

/** `k8s` and a zero. */
const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

const unknown = message('Unknown', {
  1: one('typeMeta', message('TypeMeta', { 1: text('apiVersion'), 2: text('kind') })),
  2: one('raw', 'bytes'),
  3: text('contentEncoding'),
  4: text('contentType'),
});

/** Throws BadRequest for bytes that are no object of a kind that is read. */
export function decodeProtobufObject(bytes: Buffer): JsonObject {
  if (!bytes.subarray(0, magic.length).equals(magic))
    throw ApiError.badRequest('provided data does not appear to be a protobuf message');
  const envelope = decodeMessage(bytes.subarray(magic.length), unknown);
  const apiVersion = textAt(envelope, 'typeMeta', 'apiVersion');
  const kind = textAt(objectAt(envelope, 'typeMeta'), 'kind');
  const name = `${apiVersion}/${kind}`;
  const schema = Object.hasOwn(objectMessages, name) ? objectMessages[name] : undefined;
  if (schema === undefined)
    throw ApiError.badRequest(
      `${kind} in version "${apiVersion}" is not read from protobuf by this simulator; send it as JSON`,
    );
  return { apiVersion, kind, ...decodeMessage(Buffer.from(textAt(envelope, 'raw'), 'base64'), schema) };
}
