/**
 * A query as Go reads it (net/url, ParseQuery): pairs that have a semicolon or a bad escape are left out, the first value
 * of a name counts. What a kube-apiserver will see is what is decided on.
 */

/** The first value of that name; undefined when there is none. */
export function firstParameter(query: string, name: string): string | undefined {
  // Most requests have no query, and few have one with the name in it.
  if (query.length < 2) {
    return undefined;
  }
  const [first] = parameters(query, name);
  return first;
}

/** Its value where it is there once; undefined when it is not, or could be read in two ways. */
export function onlyParameter(query: string, name: string): string | undefined {
  const values = [...parameters(query, name)];
  return values.length === 1 ? values[0] : undefined;
}

function* parameters(query: string, name: string): Generator<string> {
  for (const pair of query.slice(1).split('&')) {
    if (pair === '' || pair.includes(';')) {
      continue;
    }
    const equals = pair.indexOf('=');
    const key = decode(equals === -1 ? pair : pair.slice(0, equals));
    const value = decode(equals === -1 ? '' : pair.slice(equals + 1));
    if (key === name && value !== undefined) {
      yield value;
    }
  }
}

/** A boolean of the Kubernetes API: there, and neither `false` nor `0` (apimachinery, Convert_Slice_string_To_bool). */
export function isTrueParameter(query: string, name: string): boolean {
  const value = firstParameter(query, name)?.toLowerCase();
  return value !== undefined && value !== 'false' && value !== '0';
}

function decode(text: string): string | undefined {
  const spaced = text.replaceAll('+', ' ');
  if (!spaced.includes('%')) {
    return spaced;
  }
  if (/%(?![0-9a-fA-F]{2})/.test(spaced)) {
    return undefined;
  }
  // Go does not ask for UTF-8; latin1 keeps every byte apart, which is all that a comparison needs.
  return spaced.replaceAll(/%([0-9a-fA-F]{2})/g, (_, digits: string) =>
    String.fromCharCode(Number.parseInt(digits, 16)),
  );
}
