/** The kind that describes further kinds. */
import { conditionOf, conditions, kindSchema } from './meta-schema.ts';
import { bool, inline, int32, int64, list, struct, text, texts } from './schema.ts';
import type { Schema } from './schema.ts';

const group = 'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1';

const names = struct(
  `${group}.CustomResourceDefinitionNames`,
  'How the kind is called.',
  ['plural', 'kind'],
  {
    plural: text('In paths.', { default: '' }),
    singular: text('On the command line.'),
    shortNames: texts('Abbreviations.'),
    kind: text('In objects.', { default: '' }),
    listKind: text('In lists.'),
    categories: texts('Groups of kinds, like `all`.'),
  },
);

const scale = struct(
  `${group}.CustomResourceSubresourceScale`,
  'Where the number of replicas is.',
  ['specReplicasPath', 'statusReplicasPath'],
  {
    specReplicasPath: text('The path of the number that is wanted.', { default: '' }),
    statusReplicasPath: text('The path of the number that is there.', { default: '' }),
    labelSelectorPath: text('The path of the selector, as text.'),
  },
);

const column = struct(
  `${group}.CustomResourceColumnDefinition`,
  'A column of tables.',
  ['name', 'type', 'jsonPath'],
  {
    name: text('Its heading.', { default: '' }),
    type: text('string, integer, number, boolean or date.', { default: '' }),
    format: text('The format of the values.'),
    description: text('What it shows.'),
    priority: int32('Above 0: in wide tables only.'),
    jsonPath: text('The path of the value.', { default: '' }),
  },
);

const version = struct(
  `${group}.CustomResourceDefinitionVersion`,
  'One version of the kind.',
  ['name', 'served', 'storage'],
  {
    name: text('Like v1beta1.', { default: '' }),
    served: { ...bool('Whether it can be asked for.'), default: false },
    storage: { ...bool('Whether objects are stored in it; true for one of them.'), default: false },
    deprecated: bool('Whether clients are warned.'),
    deprecationWarning: text('What they are told.'),
    schema: struct(`${group}.CustomResourceValidation`, 'Its type.', [], {
      openAPIV3Schema: {
        name: `${group}.JSONSchemaProps`,
        type: 'object',
        description: 'A structural schema.',
        preserveUnknownFields: true,
      },
    }),
    subresources: struct(`${group}.CustomResourceSubresources`, 'Its subresources.', [], {
      status: {
        name: `${group}.CustomResourceSubresourceStatus`,
        type: 'object',
        description: 'Status is written apart from the rest.',
        preserveUnknownFields: true,
      },
      scale,
    }),
    additionalPrinterColumns: list(column, 'The columns of tables, instead of the age.'),
    selectableFields: list(
      struct(`${group}.SelectableField`, 'A field to select by.', ['jsonPath'], {
        jsonPath: text('Its path.', { default: '' }),
      }),
      'Fields to select by.',
    ),
  },
);

export const crdSchema: Schema = kindSchema(
  `${group}.CustomResourceDefinition`,
  'Makes the server serve a further kind.',
  {
    spec: inline(
      struct(
        `${group}.CustomResourceDefinitionSpec`,
        'What is wanted.',
        ['group', 'names', 'scope', 'versions'],
        {
          group: text('The API group.', { default: '' }),
          names: inline(names, 'How the kind is called.'),
          scope: text('Namespaced or Cluster.', { default: '' }),
          versions: list(version, 'Its versions.'),
          conversion: struct(`${group}.CustomResourceConversion`, 'Between versions.', ['strategy'], {
            strategy: text('None: only apiVersion changes.', { default: '' }),
            webhook: { type: 'object', preserveUnknownFields: true, description: 'Who converts.' },
          }),
          preserveUnknownFields: bool('False; true is a thing of the past.'),
        },
      ),
      'What is wanted.',
    ),
    status: inline(
      struct(`${group}.CustomResourceDefinitionStatus`, 'What is there.', [], {
        conditions: conditions(
          conditionOf(`${group}.CustomResourceDefinitionCondition`, {
            observedGeneration: int64('The generation that this was found at.'),
          }),
        ),
        acceptedNames: inline(names, 'The names in use.'),
        storedVersions: texts('Versions in which objects may be stored.'),
        observedGeneration: int64('The generation that this was found at.'),
      }),
      'What is there.',
    ),
  },
  ['spec'],
);
