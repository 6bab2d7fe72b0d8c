import { field, type Row } from '../admin-answer.ts';

/** What goes over what: `http/1.1`, or `http/1.1, streams h2`. Empty before the first connection. */
export function protocols(row: Row): string {
  const unary = field(row, 'protocols', 'unary');
  const stream = field(row, 'protocols', 'stream');
  return [unary, stream === '' || stream === unary ? '' : `streams ${stream}`]
    .filter((part) => part !== '')
    .join(', ');
}
