// Where each option's value comes from: defaults < file < environment < flags. An option is one value: a list of the command
// line takes the place of that of the file.

import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { Command } from 'commander';
import { gatewayFieldsSchema } from '@roundhouse/gateway';
import { YamlDocument, YamlProblem } from '@roundhouse/process';
import { CommandError } from '../command-error.ts';
import type { SchemaOption } from '../schema-options.ts';

export interface Layers {
  /** The nested object that the program parses. Defaults are left to it. */
  readonly input: Readonly<Record<string, unknown>>;
  /** `default`, `file.yaml:12`, `env ROUNDHOUSE_...` or `flag --...`. */
  source(option: SchemaOption): string;
}

export async function readLayers(
  command: Command,
  options: readonly SchemaOption[],
  configFile: string | undefined,
): Promise<Layers> {
  const file = configFile === undefined ? undefined : await ConfigurationFile.read(configFile);
  const input: Record<string, unknown> = {};
  const sources = new Map<SchemaOption, string>();
  for (const each of options) {
    const { path, option } = each;
    const name = option.attributeName();
    const said = command.getOptionValueSource(name);
    if (said === 'cli' || said === 'env') {
      setIn(input, path, command.getOptionValue(name));
      sources.set(each, said === 'env' ? `env ${option.envVar}` : `flag ${option.long}`);
      continue;
    }
    const value = file?.valueOf(each);
    if (file !== undefined && value !== undefined) {
      setIn(input, path, value);
      sources.set(each, file.placeOf(path));
    } else if (each.required) {
      // Here and not by commander's own check, which comes before a mistyped flag is noticed.
      command.error(`error: required option '${option.flags}' not specified`);
    }
  }
  return { input, source: (option) => sources.get(option) ?? 'default' };
}

/** A complaint about the options object, with the place of the value: the flag, or the line of the file. */
export function namePlaces(
  message: string,
  options: readonly SchemaOption[],
  layers: Layers | undefined,
): string {
  return message.replaceAll(/→ at ([\w.]+)/g, (whole, at: string) => {
    const found = options.find(({ path }) => `${at}.`.startsWith(`${path.join('.')}.`));
    if (found === undefined) return whole;
    const source = layers?.source(found) ?? 'default';
    return `→ ${/^(?:default|flag|env) ?/.test(source) ? found.option.long : `${source} (${at})`}`;
  });
}

class ConfigurationFile {
  readonly #path: string;
  readonly #document: YamlDocument;

  private constructor(path: string, document: YamlDocument) {
    this.#path = path;
    this.#document = document;
  }

  static async read(path: string): Promise<ConfigurationFile> {
    try {
      const document = YamlDocument.read(await readFile(path, 'utf8'));
      check(document);
      return new ConfigurationFile(path, document);
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new CommandError('configuration', `the configuration file ${path}:\n${reason}`, { cause });
    }
  }

  /** Undefined where the file does not say. Names of files count from the folder of this one. */
  valueOf({ path, isFile }: SchemaOption): unknown {
    const value = getIn(this.#document.value, path);
    const absolute = (text: unknown): unknown =>
      typeof text === 'string' && text !== '-' ? resolve(dirname(this.#path), text) : text;
    if (!isFile) return value;
    return Array.isArray(value) ? value.map(absolute) : absolute(value);
  }

  placeOf(path: readonly string[]): string {
    return `${this.#path}:${this.#document.lineOf(path)}`;
  }
}

/** Keys and types. What is missing may be said elsewhere, and what excludes what is seen when all is there. */
function check(document: YamlDocument): void {
  const value = document.value ?? {};
  const result = gatewayFieldsSchema.safeParse(value);
  const issues = (result.error?.issues ?? []).filter(
    (issue) =>
      issue.path.length === 0 || issue.code === 'unrecognized_keys' || getIn(value, issue.path) !== undefined,
  );
  if (issues.length > 0) throw new YamlProblem(document.problemsOf(issues, gatewayFieldsSchema));
}

function getIn(value: unknown, path: readonly PropertyKey[]): unknown {
  let at = value;
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined;
    at = Reflect.get(at, part);
  }
  return at;
}

function setIn(root: Record<string, unknown>, path: readonly string[], value: unknown): void {
  let at = root;
  for (const part of path.slice(0, -1)) {
    const next = at[part];
    at = isPlainObject(next) ? next : (at[part] = {});
  }
  at[path.at(-1) ?? ''] = value;
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
