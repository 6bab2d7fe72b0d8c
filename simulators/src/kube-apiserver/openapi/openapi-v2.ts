/**
 * OpenAPI v2, without a path or a type: kubectl validates a `List` by it and has nothing to say of kinds that are not described.
 * Everything else is asked of v3.
 */
import type { JsonObject } from '../json.ts';

export const openApiV2Protobuf = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

/** In protobuf, which is all that kubectl reads, it is gnostic's openapi_v2.Document: 1 is the version, 2 the info. */
export function openApiV2Document(version: string): {
  readonly json: JsonObject;
  readonly protobuf: Uint8Array;
} {
  const info = { title: 'Kubernetes', version };
  return {
    json: { swagger: '2.0', info, paths: {}, definitions: {} },
    protobuf: Buffer.concat([
      textField(1, '2.0'),
      textField(2, Buffer.concat([textField(1, info.title), textField(2, info.version)])),
    ]),
  };
}

/** Length-delimited, below 128 bytes. */
function textField(number: number, content: string | Buffer): Buffer {
  const bytes = Buffer.from(content);
  return Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
}
