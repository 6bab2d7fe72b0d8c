/** Header fields as they are on the wire: a flat list of name, value, name, value, with repeats as repeats. */

/** Calls back for each field, in order. */
export function forEachField(fields: readonly string[], visit: (name: string, value: string) => void): void {
  for (let index = 0; index + 1 < fields.length; index += 2) {
    visit(fields[index] ?? '', fields[index + 1] ?? '');
  }
}

/** The items of a field that is a list of tokens (RFC 9110, section 5.6.1), lower case; empty items are left out. */
export function tokensOf(value: string): string[] {
  return value
    .toLowerCase()
    .split(',')
    .map((token) => token.trim())
    .filter((token) => token !== '');
}
