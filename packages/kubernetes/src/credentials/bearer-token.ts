/** A token as it may stand behind `Authorization: Bearer`. */

/**
 * Without the white space around it, such as the newline at the end of a file; undefined for what could not stand in a header
 * field without changing what stands behind it.
 */
export function bearerTokenIn(text: string): string | undefined {
  const trimmed = text.trim();
  return /^[\x21-\x7e]+$/.test(trimmed) ? trimmed : undefined;
}
