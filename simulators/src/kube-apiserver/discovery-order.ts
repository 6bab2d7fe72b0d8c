/** In which order groups and versions are listed, which is how clients choose between resources of one name. */

/** Of the aggregation layer (kubernetes/pkg/controlplane/apiserver/aggregator.go). Groups of custom resources come last, by name. */
const priorities: ReadonlyMap<string, number> = new Map([
  ['', 18000],
  ['apps', 17800],
  ['events.k8s.io', 17750],
  ['authentication.k8s.io', 17700],
  ['authorization.k8s.io', 17600],
  ['autoscaling', 17500],
  ['batch', 17400],
  ['certificates.k8s.io', 17300],
  ['networking.k8s.io', 17200],
  ['policy', 17100],
  ['rbac.authorization.k8s.io', 17000],
  ['storage.k8s.io', 16800],
  ['apiextensions.k8s.io', 16700],
  ['admissionregistration.k8s.io', 16700],
  ['scheduling.k8s.io', 16600],
  ['coordination.k8s.io', 16500],
  ['node.k8s.io', 16300],
  ['discovery.k8s.io', 16200],
]);

export function compareGroups(left: string, right: string): number {
  const difference = (priorities.get(right) ?? 1000) - (priorities.get(left) ?? 1000);
  if (difference !== 0 || left === right) return difference;
  return left < right ? -1 : 1;
}

/** Stable versions first, then beta, then alpha, the newest of each first (k8s.io/apimachinery/pkg/version). */
export function compareVersions(left: string, right: string): number {
  const rank = (version: string): readonly number[] => {
    const [, major, level = '', minor = '0'] = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version) ?? [];
    if (major === undefined) return [0, 0, 0];
    return [level === '' ? 3 : level === 'beta' ? 2 : 1, Number(major), Number(minor)];
  };
  const [ours, theirs] = [rank(left), rank(right)];
  const differing = ours.findIndex((part, index) => part !== theirs[index]);
  if (differing < 0) return left < right ? -1 : 1;
  return (theirs[differing] ?? 0) - (ours[differing] ?? 0);
}
