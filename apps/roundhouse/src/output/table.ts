// Tables as kubectl prints them: upper-case heads, columns padded with spaces, nothing drawn.

import { printable } from './printable.ts';

export interface Column<Row> {
  readonly title: string;
  /** Shown with `-o wide` only. */
  readonly wide?: boolean;
  readonly value: (row: Row) => string;
  /** Colours a padded cell; its width must not change. */
  readonly paint?: (row: Row, cell: string) => string;
}

export interface TableOptions {
  readonly wide?: boolean;
  readonly header?: boolean;
}

const gap = '   ';

/** Lines without trailing spaces, each ended by a newline. An empty cell shows as `<none>`, as with kubectl. */
export function formatTable<Row>(
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { wide = false, header = true }: TableOptions = {},
): string {
  const shown = columns.filter((column) => wide || column.wide !== true);
  const cells = rows.map((row) => shown.map((column) => printable(column.value(row)) || '<none>'));
  const widths = shown.map((column, index) =>
    Math.max(header ? column.title.length : 0, ...cells.map((line) => line[index]?.length ?? 0)),
  );
  const lines: string[] = [];
  if (header) lines.push(shown.map((column, index) => column.title.padEnd(widths[index] ?? 0)).join(gap));
  for (const [rowIndex, row] of rows.entries()) {
    const line = shown.map((column, index) => {
      const cell = cells[rowIndex]?.[index] ?? '';
      const painted = column.paint === undefined ? cell : column.paint(row, cell);
      return painted + ' '.repeat((widths[index] ?? 0) - cell.length);
    });
    lines.push(line.join(gap));
  }
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}
