import type { Route } from '../routing/route.ts';

/** As `kubectl auth can-i` knows them. A method is whatever a client writes, so anything else is one label. */
const verbs: ReadonlySet<string> = new Set([
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'proxy',
  'head',
  'options',
  'post',
  'put',
]);

/** Empty when the request did not get as far as to have a verb. */
export function verbLabel(route: Route | undefined): string {
  if (route === undefined) {
    return '';
  }
  return verbs.has(route.info.verb) ? route.info.verb : 'other';
}
