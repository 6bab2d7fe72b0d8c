/**
 * YAML from outside, as plain data. Bounded: aliases are refused, since a few of them make gigabytes, and a message names
 * the line but never quotes it, since the line may be a token.
 */

import { LineCounter, parseDocument } from 'yaml';

/** What is wrong with the text, and where. */
export class YamlTextError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'YamlTextError';
  }
}

/** @throws YamlTextError */
export function parseYamlText(text: string): unknown {
  // JSON is YAML, and its parser is far faster: programs that write thousands of clusters write JSON.
  if (/^\s*\{/.test(text)) {
    try {
      const value: unknown = JSON.parse(text);
      return value;
    } catch {
      // A flow mapping of YAML begins with a brace, too.
    }
  }
  const lines = new LineCounter();
  try {
    const document = parseDocument(text, {
      lineCounter: lines,
      prettyErrors: false,
      uniqueKeys: true,
      stringKeys: true,
      // Its warnings go to stderr and quote the text.
      logLevel: 'error',
    });
    const [error] = document.errors;
    if (error !== undefined) {
      throw new YamlTextError(`line ${lines.linePos(error.pos[0]).line}: ${wordsOf(error.code)}`);
    }
    const value: unknown = document.toJS({ maxAliasCount: 0 });
    return value;
  } catch (error) {
    if (error instanceof YamlTextError) {
      throw error;
    }
    // The parser gives up on what is nested too deeply with a RangeError, on aliases with a ReferenceError.
    throw new YamlTextError(
      error instanceof ReferenceError ? 'it has aliases, which are refused' : 'it is nested too deeply',
    );
  }
}

/** `DUPLICATE_KEY`: "duplicate key". The parser's own messages quote what they found. */
function wordsOf(code: string): string {
  return code.toLowerCase().replaceAll('_', ' ');
}
