/** What every object carries, and types that many kinds share. */
import {
  atomic,
  bool,
  field,
  inline,
  int64,
  list,
  mapList,
  mapOf,
  setList,
  struct,
  text,
  texts,
  time,
} from './schema.ts';
import type { Schema } from './schema.ts';

const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1';

const ownerReference = atomic(
  struct(
    `${meta}.OwnerReference`,
    'Names the object that this one belongs to, and that takes it along when it goes.',
    ['apiVersion', 'kind', 'name', 'uid'],
    {
      apiVersion: text('API version of the owner.', { default: '' }),
      kind: text('Kind of the owner.', { default: '' }),
      name: text('Name of the owner.', { default: '' }),
      uid: text('UID of the owner.', { default: '' }),
      controller: bool('Whether the owner is the controller that manages this object.'),
      blockOwnerDeletion: bool('Whether a foreground deletion of the owner waits for this object.'),
    },
  ),
);

const managedFieldsEntry = struct(
  `${meta}.ManagedFieldsEntry`,
  'Which fields one manager owns in one version of the object.',
  [],
  {
    manager: text('The name of the manager.'),
    operation: text('Apply, or Update for every other way of writing.'),
    apiVersion: text('The version in which the fields are named.'),
    time: time('When the entry last changed.'),
    fieldsType: text('The format of the fields: FieldsV1.'),
    fieldsV1: {
      name: `${meta}.FieldsV1`,
      type: 'object',
      description: 'The fields as a tree of their names.',
      preserveUnknownFields: true,
    },
    subresource: text('The subresource that was written through, if any.'),
  },
);

export const objectMeta: Schema = struct(`${meta}.ObjectMeta`, 'What every stored object has.', [], {
  name: text('Unique among the objects of the kind in the namespace; cannot be changed.'),
  generateName: text('A prefix from which the server makes a unique name when none is given.'),
  namespace: text('The namespace that the object is in; cannot be changed.'),
  selfLink: text('No longer filled in.'),
  uid: text('Unique over all time and space; given by the server.'),
  resourceVersion: text('Changes with every write; sent back, it makes a write conditional.'),
  generation: int64('Counts the changes of what is wanted.'),
  creationTimestamp: time('When the object was created.'),
  deletionTimestamp: time('When the object is to be gone; set by the server on deletion.'),
  deletionGracePeriodSeconds: int64('How many seconds it may take to stop.'),
  labels: mapOf('Keys and values to select objects by.'),
  annotations: mapOf('Keys and values that nothing selects by.'),
  ownerReferences: mapList(ownerReference, ['uid'], 'The objects that this one depends on.'),
  finalizers: setList({ type: 'string', default: '' }, 'The object stays until this list is empty.', ''),
  managedFields: list(managedFieldsEntry, 'Which manager owns which fields; kept by the server.'),
});

const requirement = struct(
  `${meta}.LabelSelectorRequirement`,
  'A key, a relation and values.',
  ['key', 'operator'],
  {
    key: text('The label.', { default: '' }),
    operator: text('In, NotIn, Exists or DoesNotExist.', { default: '' }),
    values: texts('For In and NotIn.'),
  },
);

export const labelSelector: Schema = atomic(
  struct(`${meta}.LabelSelector`, 'Selects objects by their labels; all of it has to match.', [], {
    matchLabels: mapOf('Labels with the values that they have to have.'),
    matchExpressions: list(requirement, 'Further conditions.'),
  }),
);

export const condition: Schema = struct(
  `${meta}.Condition`,
  'One aspect of the present state.',
  ['type', 'status', 'lastTransitionTime', 'reason', 'message'],
  {
    type: text('The aspect, in CamelCase.', { default: '' }),
    status: text('True, False or Unknown.', { default: '' }),
    observedGeneration: int64('The generation that this was found at.'),
    lastTransitionTime: time('When the status last changed.'),
    reason: text('Why, as one word in CamelCase.', { default: '' }),
    message: text('Why, for people.', { default: '' }),
  },
);

/** The whole of a kind: type, metadata, and its own fields. */
export function kindSchema(
  name: string,
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema {
  return struct(name, description, required, {
    apiVersion: text('The version of the schema that this object is written in.'),
    kind: text('The kind of this object.'),
    metadata: inline(objectMeta, 'Name, labels, owners and the like.'),
    ...properties,
  });
}

/** A condition of an older kind, with fields of its own beside the usual ones. */
export function conditionOf(name: string, extra: Readonly<Record<string, Schema>> = {}): Schema {
  return struct(name, 'One aspect of the present state.', ['type', 'status'], {
    type: text('The aspect.', { default: '' }),
    status: text('True, False or Unknown.', { default: '' }),
    lastTransitionTime: time('When the status last changed.'),
    reason: text('Why, as one word.'),
    message: text('Why, for people.'),
    ...extra,
  });
}

export function conditions(type: Schema): Schema {
  return mapList(field(type, ''), ['type'], 'The present state, aspect by aspect.');
}
