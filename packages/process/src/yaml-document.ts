/**
 * YAML that people write, parsed by a schema, with the line in every complaint. What is not in the schema is an error: a
 * key with a typo in it would be a setting that silently does not hold. Bounded: aliases are refused, since a few of them
 * make gigabytes. Values are never quoted, names of keys are.
 */

import { LineCounter, isMap, isNode, isScalar, parseDocument } from 'yaml';
import type { Document } from 'yaml';
import { z } from 'zod';
import { closestName } from './closest-name.ts';

type Path = readonly PropertyKey[];

/** What is wrong, one line a problem, each with its place. */
export class YamlProblem extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'YamlProblem';
    this.problems = problems;
  }
}

/** More are of no use to anybody. */
const maxProblems = 20;

/** @throws YamlProblem */
export function parseYaml<Schema extends z.ZodType>(text: string, schema: Schema): z.output<Schema> {
  const document = YamlDocument.read(text);
  const result = schema.safeParse(document.value);
  if (!result.success) {
    throw new YamlProblem(document.problemsOf(result.error.issues, schema).slice(0, maxProblems));
  }
  return result.data;
}

export class YamlDocument {
  /** Plain data; undefined for an empty document. */
  readonly value: unknown;
  readonly #document: Document;
  readonly #lines: LineCounter;

  private constructor(document: Document, lines: LineCounter, value: unknown) {
    this.#document = document;
    this.#lines = lines;
    this.value = value;
  }

  /** @throws YamlProblem */
  static read(text: string): YamlDocument {
    const lines = new LineCounter();
    try {
      const document = parseDocument(text, {
        lineCounter: lines,
        prettyErrors: false,
        uniqueKeys: true,
        stringKeys: true,
        logLevel: 'error',
      });
      const [error] = document.errors;
      if (error !== undefined) {
        const { line } = lines.linePos(error.pos[0]);
        throw new YamlProblem([`line ${line}: ${error.code.toLowerCase().replaceAll('_', ' ')}`]);
      }
      const value: unknown = document.toJS({ maxAliasCount: 0 });
      return new YamlDocument(document, lines, value ?? undefined);
    } catch (error) {
      if (error instanceof YamlProblem) {
        throw error;
      }
      throw new YamlProblem([
        error instanceof ReferenceError ? 'it has aliases, which are refused' : 'it is nested too deeply',
      ]);
    }
  }

  /** A schema's complaints, each with its line. */
  problemsOf(issues: readonly z.core.$ZodIssue[], schema: z.ZodType): string[] {
    return issues.flatMap((issue) => {
      const { path } = issue;
      if (issue.code !== 'unrecognized_keys') {
        return [
          `line ${this.lineOf(path)}: ${path.length === 0 ? '' : `${pathText(path)}: `}${issue.message}`,
        ];
      }
      const known = knownKeys(schema, path);
      return issue.keys.map((key) => {
        const meant = closestName(key, known);
        const hint = meant === undefined ? `there is ${known.join(', ')}` : `did you mean ${meant}?`;
        return `line ${this.lineOf(path, key)}: unknown key ${pathText([...path, key])}; ${hint}`;
      });
    });
  }

  /** Of the value at the path, or of the nearest one above it; of a key in it when one is given. */
  lineOf(path: Path, key?: string): number {
    for (let length = path.length; length >= 0; length -= 1) {
      const node = length === 0 ? this.#document.contents : this.#document.getIn(path.slice(0, length), true);
      const keyNode =
        key !== undefined && isMap(node)
          ? node.items.find((pair) => isScalar(pair.key) && pair.key.value === key)?.key
          : undefined;
      const found = isNode(keyNode) ? keyNode : node;
      if (isNode(found) && found.range) {
        return this.#lines.linePos(found.range[0]).line;
      }
    }
    return 1;
  }
}

/** `rules[2].verbs` */
function pathText(path: Path): string {
  return path
    .map((part, index) =>
      typeof part === 'number' ? `[${part}]` : `${index === 0 ? '' : '.'}${String(part)}`,
    )
    .join('');
}

interface SchemaNode {
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly additionalProperties?: SchemaNode | boolean;
}

function knownKeys(schema: z.ZodType, path: Path): string[] {
  const root: unknown = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  let node: SchemaNode | undefined = isSchemaNode(root) ? root : undefined;
  for (const part of path) {
    const rest = node?.additionalProperties;
    node =
      typeof part === 'number'
        ? node?.items
        : (node?.properties?.[String(part)] ?? (typeof rest === 'object' ? rest : undefined));
  }
  return Object.keys(node?.properties ?? {});
}

function isSchemaNode(value: unknown): value is SchemaNode {
  return typeof value === 'object' && value !== null;
}
