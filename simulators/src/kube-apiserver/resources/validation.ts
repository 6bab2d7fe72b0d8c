/** Rules on names and fields that several kinds share; each gives causes for a 422. */
import type { StatusCause } from '../api-error.ts';
import { equalJson, isJsonObject, listAt, textAt } from '../json.ts';
import type { Json } from '../json.ts';

const dns1123Label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const dns1123Subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;

export function invalidField(field: string, value: Json, why: string): StatusCause {
  return { reason: 'FieldValueInvalid', message: `Invalid value: ${JSON.stringify(value)}: ${why}`, field };
}

export function requiredField(field: string, why = ''): StatusCause {
  return {
    reason: 'FieldValueRequired',
    message: why === '' ? 'Required value' : `Required value: ${why}`,
    field,
  };
}

export function forbiddenField(field: string, why: string): StatusCause {
  return { reason: 'FieldValueForbidden', message: `Forbidden: ${why}`, field };
}

export function unsupportedField(field: string, value: Json, supported: readonly string[]): StatusCause {
  const values = supported.map((each) => JSON.stringify(each)).join(', ');
  return {
    reason: 'FieldValueNotSupported',
    message: `Unsupported value: ${JSON.stringify(value)}: supported values: ${values}`,
    field,
  };
}

/** RFC 1123 subdomain, the rule for most names; events and others follow it too. */
export function validateName(name: string): readonly StatusCause[] {
  if (name === '') return [requiredField('metadata.name', 'name or generateName is required')];
  if (name.length <= 253 && dns1123Subdomain.test(name)) return [];
  return [invalidField('metadata.name', name, subdomainRule)];
}

/** For names of roles and bindings: whatever fits into one segment of a path. */
export function validatePathName(name: string): readonly StatusCause[] {
  if (name === '') return validateName(name);
  const problem = pathNameProblem(name);
  return problem === undefined ? [] : [invalidField('metadata.name', name, problem)];
}

export function pathNameProblem(name: string): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`;
  const found = ['/', '%'].find((character) => name.includes(character));
  return found === undefined ? undefined : `may not contain '${found}'`;
}

export function validateLabels(labels: Readonly<Record<string, string>>): readonly StatusCause[] {
  return Object.values(labels)
    .filter((value) => value.length > 63 || !labelValue.test(value))
    .map((value) => invalidField('metadata.labels', value, labelRule));
}

export function validatePodSpec(spec: Json | undefined, field: string): readonly StatusCause[] {
  const containers = listAt(spec, 'containers');
  if (containers.length === 0) return [requiredField(`${field}.containers`)];
  const seen = new Set<string>();
  return containers.flatMap((container, index) => {
    const path = `${field}.containers[${index}]`;
    const name = textAt(container, 'name');
    const causes: StatusCause[] = [];
    if (name === '') causes.push(requiredField(`${path}.name`));
    else if (!dns1123Label.test(name))
      causes.push(
        invalidField(
          `${path}.name`,
          name,
          "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-'",
        ),
      );
    if (seen.has(name))
      causes.push({
        reason: 'FieldValueDuplicate',
        message: `Duplicate value: ${JSON.stringify(name)}`,
        field: `${path}.name`,
      });
    seen.add(name);
    if (textAt(container, 'image') === '') causes.push(requiredField(`${path}.image`));
    return causes;
  });
}

/** The selector is there and selects the template's labels. */
export function validateSelector(spec: Json | undefined, selected: boolean): readonly StatusCause[] {
  if (!isJsonObject(spec) || spec['selector'] === undefined) return [requiredField('spec.selector')];
  if (selected) return [];
  return [
    {
      reason: 'FieldValueInvalid',
      message: 'Invalid value: `selector` does not match template `labels`',
      field: 'spec.template.metadata.labels',
    },
  ];
}

export function immutableField(
  field: string,
  value: Json | undefined,
  previous: Json | undefined,
): readonly StatusCause[] {
  if (equalJson(value, previous)) return [];
  return [
    {
      reason: 'FieldValueInvalid',
      message: `Invalid value: ${JSON.stringify(value ?? null)}: field is immutable`,
      field,
    },
  ];
}

const subdomainRule =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const labelRule =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
