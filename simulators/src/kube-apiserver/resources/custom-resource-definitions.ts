import type { StatusCause } from '../api-error.ts';
import { timestamp } from '../clock.ts';
import { untypedPaths } from '../custom/parse-schema.ts';
import { at, equalJson, listAt, objectAt, textAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { nameOf } from '../kube-object.ts';
import { crdSchema } from '../schema/crd-schema.ts';
import { text } from './columns.ts';
import { defineResource } from './resource-definition.ts';
import type { AdmissionContext, ResourceDefinition } from './resource-definition.ts';
import { immutableField, requiredField } from './validation.ts';

export const customResourceDefinitions: ResourceDefinition = defineResource({
  group: 'apiextensions.k8s.io',
  resource: 'customresourcedefinitions',
  singular: 'customresourcedefinition',
  kind: 'CustomResourceDefinition',
  namespaced: false,
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  hasStatus: true,
  schema: crdSchema,
  versionedUpdates: true,
  columns: [text('Created At', (crd) => crd.metadata.creationTimestamp ?? '')],
  default: (crd, context) => {
    const names = defaultNames(objectAt(crd, 'spec', 'names'));
    const spec = {
      ...objectAt(crd, 'spec'),
      names,
      conversion: at(crd, 'spec', 'conversion') ?? { strategy: 'None' },
    };
    return { ...crd, spec, status: statusOf({ ...crd, spec }, names, context) };
  },
  validate: (crd, previous) => [
    ...validateSpec(crd),
    ...(previous === undefined
      ? []
      : ['group', 'scope'].flatMap((field) =>
          immutableField(`spec.${field}`, at(crd, 'spec', field), at(previous, 'spec', field)),
        )),
  ],
  // Its objects go first.
  holdsContent: true,
});

function defaultNames(names: JsonObject): JsonObject {
  const kind = textAt(names, 'kind');
  return {
    ...names,
    singular: textAt(names, 'singular') || kind.toLowerCase(),
    listKind: textAt(names, 'listKind') || `${kind}List`,
  };
}

/** There is nothing to wait for: a kind is served as soon as its definition is stored. */
function statusOf(crd: KubeObject, names: JsonObject, { clock, previous }: AdmissionContext): JsonObject {
  const now = timestamp(clock.now());
  const storage = listAt(crd, 'spec', 'versions')
    .filter((version) => at(version, 'storage') === true)
    .map((version) => textAt(version, 'name'));
  const known = listAt(previous, 'status', 'storedVersions').map(String);
  const terminating: readonly JsonObject[] =
    crd.metadata.deletionTimestamp === undefined
      ? []
      : [condition('Terminating', 'InstanceDeletionInProgress', 'its objects are being deleted')];
  function condition(type: string, reason: string, message: string): JsonObject {
    const before = listAt(previous, 'status', 'conditions').find((found) => textAt(found, 'type') === type);
    const since = textAt(before, 'lastTransitionTime') || now;
    return { type, status: 'True', lastTransitionTime: since, reason, message };
  }
  return {
    conditions: [
      condition('NamesAccepted', 'NoConflicts', 'no conflicts found'),
      condition('Established', 'InitialNamesAccepted', 'the initial names have been accepted'),
      ...terminating,
    ],
    acceptedNames: names,
    storedVersions: [...new Set([...known, ...storage])],
  };
}

function validateSpec(crd: KubeObject): readonly StatusCause[] {
  const spec = objectAt(crd, 'spec');
  const wantedName = `${textAt(spec, 'names', 'plural')}.${textAt(spec, 'group')}`;
  const versions = listAt(spec, 'versions');
  const stored = versions.filter((version) => at(version, 'storage') === true).length;
  const causes: StatusCause[] = [];
  for (const path of [['group'], ['scope'], ['names', 'plural'], ['names', 'kind']])
    if (textAt(spec, ...path) === '') causes.push(requiredField(`spec.${path.join('.')}`));
  if (nameOf(crd) !== wantedName)
    causes.push(invalid('metadata.name', nameOf(crd), 'must be spec.names.plural+"."+spec.group'));
  if (!['Namespaced', 'Cluster', ''].includes(textAt(spec, 'scope')))
    causes.push({
      reason: 'FieldValueNotSupported',
      message: `Unsupported value: ${JSON.stringify(textAt(spec, 'scope'))}: supported values: "Cluster", "Namespaced"`,
      field: 'spec.scope',
    });
  if (stored !== 1)
    causes.push(
      invalid('spec.versions', versions, 'must have exactly one version marked as storage version'),
    );
  const schemas = versions.map((version) => at(version, 'schema', 'openAPIV3Schema'));
  const [first] = schemas;
  return [
    ...causes,
    ...versions.flatMap(validateVersion),
    // A schema that all versions have in common is kept apart from them, and has its faults there.
    ...(schemas.every((schema) => equalJson(schema ?? null, first ?? null))
      ? validateSchema(first, 'spec.validation.openAPIV3Schema')
      : schemas.flatMap((schema, index) =>
          validateSchema(schema, `spec.versions[${index}].schema.openAPIV3Schema`),
        )),
  ];
}

function validateVersion(version: Json, index: number): readonly StatusCause[] {
  const path = `spec.versions[${index}]`;
  return [
    ...(textAt(version, 'name') === '' ? [requiredField(`${path}.name`)] : []),
    ...(at(version, 'schema', 'openAPIV3Schema') === undefined
      ? [requiredField(`${path}.schema.openAPIV3Schema`, 'schemas are required')]
      : []),
  ];
}

function validateSchema(schema: Json | undefined, path: string): readonly StatusCause[] {
  return (schema === undefined ? [] : untypedPaths(schema, path)).map((field) =>
    requiredField(field, 'must not be empty for specified object fields'),
  );
}

function invalid(field: string, value: Json, why: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${why}`, field };
}
