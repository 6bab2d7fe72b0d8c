/** Comma-separated values by RFC 4180, as far as a token file needs them: quotes, doubled quotes, either line end. */

/** @throws Error that names the line. Nothing of the text is in it. */
export function parseCsv(text: string): { readonly line: number; readonly fields: readonly string[] }[] {
  const records: { line: number; fields: string[] }[] = [];
  let line = 1;
  let recordLine = 1;
  let fields: string[] = [];
  let at = 0;
  const finish = (): void => {
    // Blank lines are no records.
    if (fields.length > 1 || fields[0] !== '') {
      records.push({ line: recordLine, fields });
    }
    fields = [];
    recordLine = line;
  };
  while (at <= text.length) {
    let value = '';
    if (text[at] === '"') {
      const quoted = readQuoted(text, at, line);
      value = quoted.value;
      at = quoted.next;
      line += value.split('\n').length - 1;
    } else {
      const end = endOfPlain(text, at);
      value = text.slice(at, end);
      at = end;
      if (value.includes('"')) {
        throw new Error(`line ${line}: a quote inside a field that does not begin with one`);
      }
    }
    fields.push(value);
    const separator = text.startsWith('\r\n', at) ? '\r\n' : text[at];
    at += separator?.length ?? 1;
    if (separator === '\n' || separator === '\r\n' || separator === undefined) {
      line += 1;
      finish();
    } else if (separator !== ',') {
      throw new Error(`line ${line}: something between a closing quote and the next comma`);
    }
  }
  return records;
}

function readQuoted(text: string, start: number, line: number): { value: string; next: number } {
  let value = '';
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) {
      throw new Error(`line ${line}: a quote that is not closed`);
    }
    value += text.slice(from, quote);
    if (text[quote + 1] !== '"') {
      return { value, next: quote + 1 };
    }
    value += '"';
    from = quote + 2;
  }
}

function endOfPlain(text: string, start: number): number {
  for (let at = start; at < text.length; at += 1) {
    const character = text[at];
    if (character === ',' || character === '\n' || (character === '\r' && text[at + 1] === '\n')) {
      return at;
    }
  }
  return text.length;
}
