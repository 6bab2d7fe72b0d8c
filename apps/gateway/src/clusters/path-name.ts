/** The name of a cluster as it stands in a path. */

import { createHash } from 'node:crypto';

/** What client-go and browsers send on as it is. A slash and an escape they take apart. */
const plain = /^[A-Za-z0-9_~@:=+-][A-Za-z0-9_.~@:=+-]*$/;

/**
 * The name itself where a path can carry it. Else one made of it (OpenShift's contexts are called `default/host:6443/user`):
 * readable, and told apart from others by a digest.
 */
export function pathNameOf(name: string): string {
  if (plain.test(name)) {
    return name;
  }
  const readable = name.replaceAll(/[^A-Za-z0-9_~@:=+]+/g, '-').replaceAll(/^-+|-+$/g, '');
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${readable}-${digest}`.replace(/^-/, '');
}
