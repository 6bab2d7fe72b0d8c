// Flags and environment variables out of a program's options schema: what the program parses is what --help shows.
//
//   drainTimeoutMs: default 60000   --drain-timeout <duration>   ROUNDHOUSE_GATEWAY_DRAIN_TIMEOUT   "1m"
//   kubeconfig: list of strings     --kubeconfig <text...>       ..., separated by commas
//   limits: { maxIdle }             --limits-max-idle <number>

import { InvalidArgumentError, Option, type Command } from 'commander';
import { formatDuration, parseDuration } from './duration.ts';

/** The part of a JSON schema that an options schema uses. */
interface OptionSchema {
  readonly type?: string;
  readonly description?: string;
  readonly default?: string | number | boolean | readonly string[];
  readonly enum?: readonly unknown[];
  readonly items?: OptionSchema;
  readonly properties?: Readonly<Record<string, OptionSchema>>;
}

/** A value in the options object: the path to it, and the flag that sets it. */
export interface SchemaOption {
  readonly path: readonly string[];
  readonly option: Option;
}

/** The options of `schema`, a JSON schema of an object, in its order. Nested objects become prefixes. */
export function describeOptions(
  schema: unknown,
  envPrefix: string,
  prefix: readonly string[] = [],
): SchemaOption[] {
  const properties = isOptionSchema(schema) ? (schema.properties ?? {}) : {};
  return Object.entries(properties).flatMap(([name, property]) => {
    const path = [...prefix, name];
    if (property.properties !== undefined) return describeOptions(property, envPrefix, path);
    return [{ path, option: makeOption(path, property, envPrefix) }];
  });
}

/** What the command line and the environment said, as the nested object that the program parses. Defaults are left to it. */
export function collectOptions(command: Command, options: readonly SchemaOption[]): Record<string, unknown> {
  const collected: Record<string, unknown> = {};
  for (const { path, option } of options) {
    const name = option.attributeName();
    const source = command.getOptionValueSource(name);
    if (source !== 'cli' && source !== 'env') continue;
    let at = collected;
    for (const part of path.slice(0, -1)) {
      const next = at[part];
      at = isPlainObject(next) ? next : (at[part] = {});
    }
    at[path.at(-1) ?? ''] = command.getOptionValue(name);
  }
  return collected;
}

function makeOption(path: readonly string[], schema: OptionSchema, envPrefix: string): Option {
  const isDuration = (path.at(-1) ?? '').endsWith('Ms') && isNumeric(schema);
  const words = path
    .flatMap((name) => name.replace(isDuration ? /Ms$/ : /$^/, '').split(/(?=[A-Z])/))
    .map((word) => word.toLowerCase());
  const flag = words.join('-');
  const description = schema.description ?? '';
  const option = newOption(flag, schema, isDuration, description);
  return option.env(`${envPrefix}${words.join('_').toUpperCase()}`);
}

function newOption(flag: string, schema: OptionSchema, isDuration: boolean, description: string): Option {
  if (schema.type === 'boolean') {
    // A switch that is on by default can only be turned off.
    return schema.default === true
      ? new Option(`--no-${flag}`, description)
      : new Option(`--${flag}`, description);
  }
  if (schema.type === 'array') {
    const option = new Option(`--${flag} <${valueName(flag, schema.items ?? {})}...>`, description);
    if (Array.isArray(schema.default) && schema.default.length > 0)
      option.default(schema.default, schema.default.join(','));
    return option.argParser(collectList());
  }
  if (isDuration) {
    const option = new Option(`--${flag} <duration>`, description).argParser(parseDurationFlag);
    return typeof schema.default === 'number'
      ? option.default(schema.default, formatDuration(schema.default))
      : option;
  }
  const option = new Option(`--${flag} <${valueName(flag, schema)}>`, description);
  if (schema.enum !== undefined) option.choices(schema.enum.map(String));
  else if (isNumeric(schema)) option.argParser(parseNumber);
  return schema.default === undefined ? option : option.default(schema.default, String(schema.default));
}

function valueName(flag: string, schema: OptionSchema): string {
  if (isNumeric(schema)) return flag.endsWith('bytes') ? 'bytes' : 'number';
  if (/(?:^|-)(?:file|kubeconfig|cert|key|ca)$/.test(flag)) return 'file';
  return schema.enum === undefined ? 'text' : 'choice';
}

/** The flag may be repeated, take several values, or hold several in one, separated by commas as in the environment. */
function collectList(): (text: string, previous: unknown) => string[] {
  let collected: string[] = [];
  return (text) => {
    collected = [...collected, ...text.split(',').filter((part) => part !== '')];
    return collected;
  };
}

function parseNumber(text: string): number {
  const number = Number(text);
  if (text.trim() === '' || !Number.isFinite(number)) throw new InvalidArgumentError('It is not a number.');
  return number;
}

function parseDurationFlag(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined) throw new InvalidArgumentError('It is not a duration; write 500ms, 10s, 5m or 2h.');
  return ms;
}

function isNumeric({ type }: OptionSchema): boolean {
  return type === 'number' || type === 'integer';
}

function isOptionSchema(value: unknown): value is OptionSchema {
  return typeof value === 'object' && value !== null;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
