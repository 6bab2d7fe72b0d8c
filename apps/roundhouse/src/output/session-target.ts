import { field, type Row } from '../admin-answer.ts';

/** What a session is for: `exec web/web-0`, `create services/proxy web/shop`, `get /some/path`. */
export function sessionTarget(row: Row): string {
  const text = (name: string): string => field(row, name);
  const path = text('path');
  if (path !== '') return `${text('verb')} ${path}`;
  const object = [text('namespace'), text('name')].filter((part) => part !== '').join('/');
  const resource = text('resource');
  const subresource = text('subresource');
  const what =
    resource === 'pods' && subresource !== ''
      ? subresource
      : `${text('verb')} ${[resource, subresource].filter((part) => part !== '').join('/')}`;
  return `${what} ${object}`.trimEnd();
}
