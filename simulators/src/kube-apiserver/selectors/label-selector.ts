/** `labelSelector=`: the grammar of k8s.io/apimachinery/pkg/labels, and the LabelSelector objects of specs. */
import { ApiError } from '../api-error.ts';
import { isJsonObject, listAt, objectAt, textAt } from '../json.ts';
import type { Json } from '../json.ts';
import type { StringMap } from '../kube-object.ts';

export type LabelSelector = (labels: StringMap) => boolean;

const everyLabel: LabelSelector = () => true;

const tokenPattern = /\s*(==|!=|[=!,()<>]|[^\s=!,()<>]+)/y;
const maxSelectorLength = 64 * 1024;

/** Throws BadRequest with the text that cannot be parsed. */
export function parseLabelSelector(text: string): LabelSelector {
  if (text.trim() === '') return everyLabel;
  if (text.length > maxSelectorLength)
    throw ApiError.badRequest('unable to parse requirement: selector is too long');
  const tokens = new Tokens(text);
  const requirements: LabelSelector[] = [];
  do requirements.push(parseRequirement(tokens));
  while (tokens.accept(','));
  if (!tokens.done) throw tokens.failure(`found '${tokens.peek()}', expected: ',' or 'end of string'`);
  return (labels) => requirements.every((matches) => matches(labels));
}

/** The LabelSelector of a spec (`matchLabels`, `matchExpressions`). An absent one matches nothing, an empty one everything. */
export function labelSelectorOf(selector: Json | undefined): LabelSelector {
  if (!isJsonObject(selector)) return () => false;
  const wanted = Object.entries(objectAt(selector, 'matchLabels'));
  const expressions = listAt(selector, 'matchExpressions').map((expression) => {
    const values = new Set(listAt(expression, 'values').filter((value) => typeof value === 'string'));
    return requirement(textAt(expression, 'key'), textAt(expression, 'operator').toLowerCase(), values);
  });
  return (labels) =>
    wanted.every(([key, value]) => labels[key] === value) && expressions.every((matches) => matches(labels));
}

/** The text of a LabelSelector object, as `parseLabelSelector` reads it; sorted by key. */
export function formatLabelSelector(selector: Json | undefined): string {
  const labels = Object.entries(objectAt(selector, 'matchLabels')).map(
    ([key, value]) => `${key}=${String(value)}`,
  );
  const expressions = listAt(selector, 'matchExpressions').map((expression) => {
    const key = textAt(expression, 'key');
    const values = listAt(expression, 'values').map(String).toSorted().join(',');
    switch (textAt(expression, 'operator')) {
      case 'In':
        return `${key} in (${values})`;
      case 'NotIn':
        return `${key} notin (${values})`;
      case 'DoesNotExist':
        return `!${key}`;
      default:
        return key;
    }
  });
  return [...labels, ...expressions].toSorted().join(',');
}

function parseRequirement(tokens: Tokens): LabelSelector {
  const negated = tokens.accept('!');
  const key = tokens.word('identifier');
  if (negated) return requirement(key, 'doesnotexist', new Set());
  const operator = tokens.peek();
  switch (operator) {
    case '=':
    case '==':
      tokens.take();
      return requirement(key, 'in', new Set([tokens.value()]));
    case '!=':
      tokens.take();
      return requirement(key, 'notin', new Set([tokens.value()]));
    case '<':
    case '>':
      tokens.take();
      return ordered(key, operator, tokens);
    case 'in':
    case 'notin':
      tokens.take();
      return requirement(key, operator, tokens.values());
    case undefined:
    case ',':
      return requirement(key, 'exists', new Set());
    default:
      throw tokens.failure(`found '${operator}', expected: in, notin, =, ==, !=, gt, lt`);
  }
}

function requirement(key: string, operator: string, values: ReadonlySet<string>): LabelSelector {
  switch (operator) {
    case 'in':
      return (labels) => labels[key] !== undefined && values.has(labels[key]);
    case 'notin':
      return (labels) => labels[key] === undefined || !values.has(labels[key]);
    case 'exists':
      return (labels) => labels[key] !== undefined;
    case 'doesnotexist':
      return (labels) => labels[key] === undefined;
    default:
      throw ApiError.badRequest(`"${operator}" is not a valid label selector operator`);
  }
}

function ordered(key: string, operator: '<' | '>', tokens: Tokens): LabelSelector {
  const bound = tokens.value();
  if (!/^-?\d+$/.test(bound))
    throw tokens.failure(
      `values: Invalid value: "${bound}": for 'Gt', 'Lt' operators, the value must be an integer`,
    );
  return (labels) => {
    const value = labels[key];
    if (value === undefined || !/^-?\d+$/.test(value)) return false;
    return operator === '<' ? Number(value) < Number(bound) : Number(value) > Number(bound);
  };
}

class Tokens {
  readonly #text: string;
  readonly #tokens: readonly string[];
  #next = 0;

  constructor(text: string) {
    this.#text = text;
    this.#tokens = [...text.trim().matchAll(new RegExp(tokenPattern.source, 'g'))].map(
      (match) => match[1] ?? '',
    );
  }

  get done(): boolean {
    return this.#next >= this.#tokens.length;
  }

  peek(): string | undefined {
    return this.#tokens[this.#next];
  }

  take(): string | undefined {
    const token = this.peek();
    this.#next += 1;
    return token;
  }

  accept(token: string): boolean {
    if (this.peek() !== token) return false;
    this.#next += 1;
    return true;
  }

  word(expected: string): string {
    const token = this.take();
    if (token === undefined || /^[=!,()<>]/.test(token))
      throw this.failure(`found '${token ?? ''}', expected: ${expected}`);
    return token;
  }

  /** May be empty: `a=` selects the empty value. */
  value(): string {
    const token = this.peek();
    return token === undefined || token === ',' || token === ')' ? '' : this.word('value');
  }

  values(): ReadonlySet<string> {
    if (!this.accept('(')) throw this.failure(`found '${this.peek() ?? ''}', expected: '('`);
    const values = new Set<string>();
    do values.add(this.value());
    while (this.accept(','));
    if (!this.accept(')')) throw this.failure(`found '${this.peek() ?? ''}', expected: ',' or ')'`);
    return values;
  }

  failure(why: string): ApiError {
    return ApiError.badRequest(`unable to parse requirement: ${why} (in "${this.#text}")`);
  }
}
