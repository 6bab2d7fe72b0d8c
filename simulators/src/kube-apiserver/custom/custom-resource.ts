/** What the server serves for one CustomResourceDefinition: a resource for each version. */
import { isJsonObject, listAt, objectAt, textAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { age } from '../printing/human-duration.ts';
import { ageColumn } from '../resources/columns.ts';
import { defineResource } from '../resources/resource-definition.ts';
import type { Column, ResourceDefinition, ScalePaths } from '../resources/resource-definition.ts';
import { objectMeta } from '../schema/meta-schema.ts';
import { text } from '../schema/schema.ts';
import type { Schema } from '../schema/schema.ts';
import { withDefaults } from './fit-schema.ts';
import { parseJsonPath } from './json-path.ts';
import { parseSchema } from './parse-schema.ts';
import { validateReplicas } from './validate-replicas.ts';
import { validateValue } from './validate-value.ts';

/** Those that are served, as the definition stands now. */
export function customResources(crd: KubeObject): readonly ResourceDefinition[] {
  return listAt(crd, 'spec', 'versions')
    .filter((version) => objectAt(version)['served'] === true)
    .map((version) => resourceOf(objectAt(crd, 'spec'), objectAt(version)));
}

function resourceOf(spec: JsonObject, version: JsonObject): ResourceDefinition {
  const names = objectAt(spec, 'names');
  const [group, name, kind] = [textAt(spec, 'group'), textAt(version, 'name'), textAt(names, 'kind')];
  const schema = wholeSchema(parseSchema(objectAt(version, 'schema')['openAPIV3Schema']));
  const selectable = listAt(version, 'selectableFields').map((field) => textAt(field, 'jsonPath'));
  const scale = scaleOf(objectAt(version, 'subresources')['scale']);
  const complete = (object: KubeObject): KubeObject => {
    const { metadata } = object;
    const filled = withDefaults(object, { ...schema, properties: ownProperties(schema) }) as JsonObject;
    return { ...filled, apiVersion: `${group}/${name}`, kind, metadata };
  };
  return defineResource({
    group,
    version: name,
    resource: textAt(names, 'plural'),
    singular: textAt(names, 'singular') || kind.toLowerCase(),
    kind,
    shortNames: strings(names, 'shortNames'),
    categories: strings(names, 'categories'),
    namespaced: textAt(spec, 'scope') === 'Namespaced',
    custom: true,
    schema,
    versionedUpdates: true,
    hasStatus: isJsonObject(objectAt(version, 'subresources')['status']),
    scale,
    columns: columnsOf(version),
    selectableFields: Object.fromEntries(
      selectable.map((path) => [path.replace(/^\./, ''), (object: KubeObject) => textAtPath(object, path)]),
    ),
    // Versions differ in their name and their defaults only: nothing converts between them.
    stored: { toStored: (object) => object, fromStored: complete },
    default: complete,
    validate: (object) => [
      ...validateValue(object, { ...schema, properties: ownProperties(schema) }, ''),
      ...validateReplicas(object, scale?.specReplicas),
      ...validateReplicas(object, scale?.statusReplicas),
    ],
  });
}

/** With the fields of every object, whatever the schema says of them. */
function wholeSchema(schema: Schema): Schema {
  return {
    ...schema,
    type: 'object',
    properties: {
      ...schema.properties,
      apiVersion: text('The version of the schema that this object is written in.'),
      kind: text('The kind of this object.'),
      metadata: { ...objectMeta, description: 'Name, labels, owners and the like.' },
    },
  };
}

function ownProperties({ properties = {} }: Schema): Readonly<Record<string, Schema>> {
  const { apiVersion: _, kind: __, metadata: ___, ...own } = properties;
  return own;
}

function scaleOf(given: Json | undefined): ScalePaths | undefined {
  if (!isJsonObject(given)) return undefined;
  const selector = textAt(given, 'labelSelectorPath');
  return {
    specReplicas: fieldsOf(textAt(given, 'specReplicasPath')),
    statusReplicas: fieldsOf(textAt(given, 'statusReplicasPath')),
    selector: (object) => (selector === '' ? '' : textAt(object, ...fieldsOf(selector))),
  };
}

function fieldsOf(path: string): readonly string[] {
  return path.split('.').filter((name) => name !== '');
}

function columnsOf(version: JsonObject): readonly Column[] {
  const columns = listAt(version, 'additionalPrinterColumns').map((given): Column => {
    const path = textAt(given, 'jsonPath');
    const type = columnType(textAt(given, 'type'));
    const read = parseJsonPath(path);
    return {
      name: textAt(given, 'name'),
      type,
      format: '',
      priority: objectAt(given)['priority'] === undefined || objectAt(given)['priority'] === 0 ? 0 : 1,
      description:
        textAt(given, 'description') || `Custom resource definition column (in JSONPath format): ${path}`,
      value: (object, now) => cell(read?.(object) ?? [], type, now),
    };
  });
  return columns.length === 0 ? [ageColumn] : columns;
}

function columnType(type: string): Column['type'] {
  return (['integer', 'number', 'boolean', 'date'] as const).find((known) => known === type) ?? 'string';
}

function cell(found: readonly Json[], type: Column['type'], now: number): ReturnType<Column['value']> {
  const [first] = found;
  if (first === undefined) return null;
  switch (type) {
    case 'date':
      return age(typeof first === 'string' ? first : '', now);
    case 'integer':
    case 'number':
      return typeof first === 'number' ? first : null;
    case 'boolean':
      return typeof first === 'boolean' ? first : null;
    case 'string':
      return found.map(plainText).join(',');
  }
}

function textAtPath(object: KubeObject, path: string): string {
  const [first] = parseJsonPath(path)?.(object) ?? [];
  return first === undefined ? '' : plainText(first);
}

function plainText(value: Json): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function strings(object: JsonObject, field: string): readonly string[] {
  return listAt(object, field).filter((item) => typeof item === 'string');
}
