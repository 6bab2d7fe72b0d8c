/** What came over the network may not move the cursor of a terminal: on one line, without control characters. */
export function printable(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, ' ');
}
