/** What of a shell's language is understood: words with quotes and variables, redirections, `|`, `;`, `&&` and `||`. */

export type WordPart = { readonly text: string } | { readonly variable: string };

export interface ShellCommand {
  readonly words: readonly (readonly WordPart[])[];
  readonly redirections: readonly Redirection[];
}

export interface Redirection {
  readonly from: 0 | 1 | 2;
  readonly mode: 'read' | 'write' | 'append' | 'join';
  /** A path; for `join` the descriptor. */
  readonly to: readonly WordPart[];
}

export interface Pipeline {
  readonly commands: readonly ShellCommand[];
  /** Whether it runs, given how the one before ended. */
  readonly runs: 'always' | 'after-success' | 'after-failure';
}

export class ShellSyntaxError extends Error {
  constructor(near: string) {
    super(`syntax error: unexpected ${near}`);
    this.name = 'ShellSyntaxError';
  }
}

type Token =
  | { readonly kind: 'word'; readonly parts: readonly WordPart[] }
  | { readonly kind: 'operator'; readonly text: string };

const operators = ['&&', '||', ';', '|', '\n', '2>&1', '2>>', '2>', '>>', '>', '<'] as const;

/** Throws ShellSyntaxError. */
export function parseScript(script: string): readonly Pipeline[] {
  const pipelines: Pipeline[] = [];
  let runs: Pipeline['runs'] = 'always';
  let commands: ShellCommand[] = [];
  let words: (readonly WordPart[])[] = [];
  let redirections: Redirection[] = [];
  const endCommand = (by: string): void => {
    if (words.length === 0) throw new ShellSyntaxError(JSON.stringify(by));
    commands.push({ words, redirections });
    words = [];
    redirections = [];
  };
  const endPipeline = (by: string): void => {
    endCommand(by);
    pipelines.push({ commands, runs });
    commands = [];
  };
  const tokens = tokenize(script);
  for (let index = 0; index < tokens.length; index += 1) {
    const token = tokens[index];
    if (token === undefined) break;
    if (token.kind === 'word') {
      words.push(token.parts);
      continue;
    }
    switch (token.text) {
      case '|':
        endCommand('|');
        break;
      case ';':
      case '\n':
        if (words.length > 0 || commands.length > 0) endPipeline(token.text);
        runs = 'always';
        break;
      case '&&':
      case '||':
        endPipeline(token.text);
        runs = token.text === '&&' ? 'after-success' : 'after-failure';
        break;
      default: {
        const target = token.text === '2>&1' ? undefined : tokens[(index += 1)];
        if (target?.kind === 'operator' || (target === undefined && token.text !== '2>&1'))
          throw new ShellSyntaxError('redirection');
        redirections.push(redirection(token.text, target?.parts ?? [{ text: '1' }]));
      }
    }
  }
  if (words.length > 0 || commands.length > 0) endPipeline('end of file');
  else if (runs !== 'always') throw new ShellSyntaxError('end of file');
  return pipelines;
}

function redirection(operator: string, to: readonly WordPart[]): Redirection {
  if (operator === '<') return { from: 0, mode: 'read', to };
  const from = operator.startsWith('2') ? 2 : 1;
  if (operator === '2>&1') return { from, mode: 'join', to };
  return { from, mode: operator.endsWith('>>') ? 'append' : 'write', to };
}

function tokenize(script: string): readonly Token[] {
  const tokens: Token[] = [];
  let rest = script;
  while (rest !== '') {
    const blank = /^[ \t\r]+|^#[^\n]*/.exec(rest)?.[0];
    if (blank !== undefined) {
      rest = rest.slice(blank.length);
      continue;
    }
    const operator = operators.find((each) => rest.startsWith(each));
    if (operator !== undefined) {
      tokens.push({ kind: 'operator', text: operator });
      rest = rest.slice(operator.length);
      continue;
    }
    const { parts, length } = readWord(rest);
    tokens.push({ kind: 'word', parts });
    rest = rest.slice(length);
  }
  return tokens;
}

const pieces =
  /^(?:'(?<single>[^']*)'|"(?<double>(?:[^"\\]|\\[^])*)"|\\(?<escaped>[^])|\$\{?(?<name>\?|[A-Za-z_]\w*)\}?|(?<plain>[^\s'"\\$;|&<>]+|\$|&))/;

function readWord(text: string): { readonly parts: readonly WordPart[]; readonly length: number } {
  const parts: WordPart[] = [];
  let length = 0;
  for (;;) {
    const piece = pieces.exec(text.slice(length));
    if (piece === null) break;
    length += piece[0].length;
    const { single, double, escaped, name, plain } = piece.groups ?? {};
    if (name !== undefined) parts.push({ variable: name });
    else if (double !== undefined) parts.push(...expandable(double));
    else parts.push({ text: single ?? escaped ?? plain ?? '' });
  }
  if (length === 0) throw new ShellSyntaxError(JSON.stringify(text.slice(0, 1)));
  return { parts, length };
}

/** Between double quotes. */
function expandable(text: string): readonly WordPart[] {
  const found = text.matchAll(
    /\$\{?(?<name>\?|[A-Za-z_]\w*)\}?|\\(?<escaped>["\\$`])|(?<plain>[^$\\]+|[$\\])/g,
  );
  return Array.from(found, ({ groups = {} }): WordPart => {
    const { name, escaped, plain } = groups;
    return name === undefined ? { text: escaped ?? plain ?? '' } : { variable: name };
  });
}
