import { ApiError } from '../api-error.ts';
import { listAt, textAt } from '../json.ts';
import { nameOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';

/** The one that is wanted, or the only one. Throws BadRequest. */
export function chooseContainer(pod: KubeObject, wanted: string): string {
  const names = ['containers', 'initContainers'].flatMap((field) =>
    listAt(pod, 'spec', field).map((container) => textAt(container, 'name')),
  );
  if (wanted !== '') {
    if (names.includes(wanted)) return wanted;
    throw ApiError.badRequest(`container ${wanted} is not valid for pod ${nameOf(pod)}`);
  }
  const [only = '', ...more] = names;
  if (more.length === 0) return only;
  throw ApiError.badRequest(
    `a container name must be specified for pod ${nameOf(pod)}, choose one of: [${names.join(' ')}]`,
  );
}
