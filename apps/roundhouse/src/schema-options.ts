// Flags and environment variables out of a program's options schema: what the program parses is what --help shows.
//
//   drainTimeoutMs: default 60000    --drain-timeout <duration>    ROUNDHOUSE_GATEWAY_DRAIN_TIMEOUT, "1m"
//   listen: { host, port }           --listen <host:port>
//   kubeconfigs: list of strings     --kubeconfig <file...>        in the environment separated by commas
//   clusterIdentity: record          --cluster-identity <name=value...>
//   tls: { certFile }                --tls-cert-file <file>
//   limits: { maxIdle }              --max-idle <number>           under a heading of its own

import { InvalidArgumentError, Option } from 'commander';
import { formatDuration, parseDuration } from './duration.ts';

/** The part of a JSON schema that an options schema uses. */
export interface OptionSchema {
  readonly type?: string;
  readonly description?: string;
  readonly format?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly items?: OptionSchema;
  readonly properties?: Readonly<Record<string, OptionSchema>>;
  readonly required?: readonly string[];
}

/** A value in the options object: the path to it, and the flag that sets it. */
export interface SchemaOption {
  readonly path: readonly string[];
  readonly option: Option;
  /** Whether the program cannot do without; within an object that may be left out nothing is. */
  readonly required: boolean;
  /** Whether it names a file, or a list of them. */
  readonly isFile: boolean;
  readonly schema: OptionSchema;
}

export interface DescribeRules {
  /** Of the environment variables, with the underscore. */
  readonly envPrefix: string;
  /** Objects whose name is no part of the flags within; the heading that those stand under. */
  readonly headings?: Readonly<Record<string, string>>;
}

/** The options of `schema`, a JSON schema of an object, in its order. */
export function describeOptions(schema: unknown, rules: DescribeRules): SchemaOption[] {
  return isOptionSchema(schema) ? describeProperties(schema, [], [], rules) : [];
}

function describeProperties(
  schema: OptionSchema,
  path: readonly string[],
  words: readonly string[],
  rules: DescribeRules,
): SchemaOption[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const inner = [...path, name];
    const heading = rules.headings?.[name];
    const named = heading === undefined ? [...words, ...wordsOf(name, property)] : words;
    if (property.properties !== undefined && !isAddress(property)) {
      const options = describeProperties(property, inner, named, rules);
      if (heading !== undefined) for (const { option } of options) option.helpGroup(heading);
      return options;
    }
    const option = newOption(named.join('-'), property, isDuration(name, property));
    const required = path.length === 0 && (schema.required?.includes(name) ?? false);
    return [
      {
        path: inner,
        option: option.env(`${rules.envPrefix}${named.join('_').toUpperCase()}`),
        required,
        isFile: (property.items ?? property).format === 'path',
        schema: property,
      },
    ];
  });
}

/** `drainTimeoutMs` is written as a duration and needs no unit in its name; of a list each flag gives one or more. */
function wordsOf(name: string, schema: OptionSchema): string[] {
  const said = isDuration(name, schema)
    ? name.slice(0, -2)
    : schema.type === 'array' || (schema.type === 'object' && schema.properties === undefined)
      ? name.replace(/s$/, '')
      : name;
  return said.split(/(?=[A-Z])/).map((word) => word.toLowerCase());
}

function newOption(flag: string, schema: OptionSchema, duration: boolean): Option {
  const { type, description = '' } = schema;
  if (type === 'boolean') {
    // A switch that is on by default can only be turned off.
    return new Option(schema.default === true ? `--no-${flag}` : `--${flag}`, description);
  }
  if (type === 'array') {
    return new Option(`--${flag} <${valueName(flag, schema.items ?? {})}...>`, description).argParser(
      listParser(),
    );
  }
  if (isAddress(schema)) {
    const { host, port } = schema.properties ?? {};
    return new Option(`--${flag} <host:port>`, description)
      .default(
        { host: host?.default, port: port?.default },
        `${String(host?.default)}:${String(port?.default)}`,
      )
      .argParser(parseAddress);
  }
  if (type === 'object')
    return new Option(`--${flag} <name=value...>`, description).argParser(recordParser());
  if (duration) {
    const option = new Option(`--${flag} <duration>`, description).argParser(parseDurationFlag);
    return typeof schema.default === 'number'
      ? option.default(schema.default, formatDuration(schema.default))
      : option;
  }
  const option = new Option(`--${flag} <${valueName(flag, schema)}>`, description);
  if (schema.enum !== undefined) option.choices(schema.enum.map(String));
  else if (isNumeric(schema)) option.argParser(parseNumber);
  return schema.default === undefined
    ? option
    : option.default(schema.default, JSON.stringify(schema.default));
}

function valueName(flag: string, schema: OptionSchema): string {
  if (isNumeric(schema)) return flag.endsWith('bytes') ? 'bytes' : 'number';
  if (/(?:^|-)(?:file|kubeconfig|cert|key|ca)$/.test(flag)) return 'file';
  return schema.enum === undefined ? 'text' : 'choice';
}

/** The flag may be repeated, take several values, or hold several in one, separated by commas as in the environment. */
function listParser(): (text: string) => string[] {
  const collected: string[] = [];
  return (text) => {
    collected.push(...text.split(',').filter((part) => part !== ''));
    return collected;
  };
}

function recordParser(): (text: string) => Record<string, string> {
  const collected: Record<string, string> = {};
  return (text) => {
    for (const pair of text.split(',')) {
      const [, name, value] = /^(.+)=([^=]+)$/.exec(pair) ?? [];
      if (name === undefined || value === undefined)
        throw new InvalidArgumentError('It is not of the form name=value.');
      collected[name] = value;
    }
    return collected;
  };
}

/** `127.0.0.1:7443`, `localhost:0`, `[::1]:7443`. */
function parseAddress(text: string): { host: string; port: number } {
  const [, bracketed, plain, port] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  if (host === undefined || host === '' || Number(port) > 65_535) {
    throw new InvalidArgumentError('It is not an address; write 127.0.0.1:7443 or [::1]:7443.');
  }
  return { host, port: Number(port) };
}

function isDuration(name: string, schema: OptionSchema): boolean {
  return name.endsWith('Ms') && isNumeric(schema);
}

function isAddress({ properties = {} }: OptionSchema): boolean {
  return Object.keys(properties).join() === 'host,port';
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
