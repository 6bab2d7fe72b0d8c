/** `fieldValidation=`: what becomes of fields that the schema does not have. By default they are left out, with a warning. */
import type { ApiError } from '../api-error.ts';
import type { KubeObject } from '../kube-object.ts';
import { pruneUnknown } from '../custom/fit-schema.ts';
import type { ResourceDefinition } from '../resources/resource-definition.ts';
import { decodeTyped } from '../schema/decode.ts';
import type { Decoded } from '../schema/decode.ts';
import { objectMeta } from '../schema/meta-schema.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import type { FieldValidation } from './write-options.ts';

/** The object as the kind knows it. Throws `refusal`'s error for unknown fields that are to be refused. */
export function decodeKnown(
  exchange: ResourceExchange,
  object: KubeObject,
  directive: FieldValidation,
  refusal: (why: string) => ApiError,
): KubeObject {
  const { definition, reply } = exchange;
  const { object: known, unknownFields } = knownPart(object, definition);
  const complaints = unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`);
  if (complaints.length === 0 || directive === 'Ignore') return known;
  if (directive === 'Strict') throw refusal(`strict decoding error: ${complaints.join(', ')}`);
  reply.addHeaders({ Warning: complaints.map((text) => `299 - ${JSON.stringify(text)}`).join(', ') });
  return known;
}

/** Types of custom resources are not the decoder's affair: a wrong one is found by validation. */
export function knownPart(object: KubeObject, { custom, schema }: ResourceDefinition): Decoded {
  if (!custom) return decodeTyped(object, schema);
  const unknownFields: string[] = [];
  const pruned = pruneUnknown(object, schema, unknownFields);
  const meta = decodeTyped({ apiVersion: '', kind: '', metadata: object.metadata }, { properties: metaOnly });
  const { apiVersion, kind } = object;
  return {
    object: { ...pruned, apiVersion, kind, metadata: meta.object.metadata },
    unknownFields: [...unknownFields, ...meta.unknownFields],
  };
}

const metaOnly = { apiVersion: {}, kind: {}, metadata: objectMeta };
