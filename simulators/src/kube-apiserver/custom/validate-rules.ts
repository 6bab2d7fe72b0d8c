/** The rules of a schema on one value by itself: choices, bounds, lengths, patterns, formats. */
import type { StatusCause } from '../api-error.ts';
import { equalJson, isJsonList, isJsonObject } from '../json.ts';
import type { Json } from '../json.ts';
import type { Schema, ValueRules } from '../schema/schema.ts';

export function validateRules(value: Json, schema: Schema, path: string): readonly StatusCause[] {
  const { rules = {} } = schema;
  const causes: StatusCause[] = [];
  const add = (reason: string, message: string): unknown => causes.push({ reason, message, field: path });
  const invalid = (shown: Json, why: string): unknown =>
    add('FieldValueInvalid', `Invalid value: ${JSON.stringify(shown)}: ${path} in body ${why}`);
  const choices = rules.enum;
  if (choices !== undefined && !choices.some((choice) => equalJson(choice, value)))
    add(
      'FieldValueNotSupported',
      `Unsupported value: ${JSON.stringify(value)}: supported values: ${choices.map((choice) => JSON.stringify(choice)).join(', ')}`,
    );
  if (typeof value === 'number') for (const why of numberFaults(value, rules)) invalid(value, why);
  if (typeof value === 'string') {
    const { minLength = 0, maxLength = Number.POSITIVE_INFINITY } = rules;
    const length = Array.from(value).length;
    if (length > maxLength) add('FieldValueTooLong', `Too long: may not be more than ${maxLength} bytes`);
    if (length < minLength) invalid(value, `should be at least ${minLength} chars long`);
    if (rules.pattern !== undefined && !matches(value, rules.pattern))
      invalid(value, `should match '${rules.pattern}'`);
    if (schema.format === 'date-time' && !dateTime.test(value))
      invalid(value, `must be of type date-time: ${JSON.stringify(value)}`);
  }
  if (isJsonList(value)) {
    const { minItems = 0, maxItems = Number.POSITIVE_INFINITY, uniqueItems } = rules;
    if (value.length > maxItems)
      add('FieldValueTooMany', `Too many: ${value.length}: must have at most ${maxItems} items`);
    if (value.length < minItems) invalid(value.length, `should have at least ${minItems} items`);
    if (uniqueItems === true && hasRepeats(value)) invalid(value, "shouldn't contain duplicates");
  }
  if (isJsonObject(value)) {
    const { minProperties = 0, maxProperties = Number.POSITIVE_INFINITY } = rules;
    const count = Object.keys(value).length;
    if (count > maxProperties)
      add('FieldValueTooMany', `Too many: ${count}: must have at most ${maxProperties} items`);
    if (count < minProperties) invalid(count, `should have at least ${minProperties} properties`);
  }
  return causes;
}

function numberFaults(value: number, rules: ValueRules): readonly string[] {
  const { minimum, maximum, exclusiveMinimum = false, exclusiveMaximum = false, multipleOf } = rules;
  const faults: string[] = [];
  if (minimum !== undefined && (exclusiveMinimum ? value <= minimum : value < minimum))
    faults.push(`should be greater than ${exclusiveMinimum ? '' : 'or equal to '}${minimum}`);
  if (maximum !== undefined && (exclusiveMaximum ? value >= maximum : value > maximum))
    faults.push(`should be less than ${exclusiveMaximum ? '' : 'or equal to '}${maximum}`);
  if (multipleOf !== undefined && value % multipleOf !== 0)
    faults.push(`should be a multiple of ${multipleOf}`);
  return faults;
}

const dateTime = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

/** A pattern that this engine does not read is not checked. */
function matches(value: string, pattern: string): boolean {
  try {
    return new RegExp(pattern).test(value);
  } catch {
    return true;
  }
}

function hasRepeats(items: readonly Json[]): boolean {
  return items.some((item, index) => items.slice(0, index).some((other) => equalJson(item, other)));
}
