/**
 * The cluster roles and bindings that every cluster begins with, but for those of its own components
 * (kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy).
 */
import type { JsonObject } from '../json.ts';
import { rbacGroup } from '../resources/roles.ts';
import { authenticatedGroup, anonymousCaller } from '../authentication.ts';
import type { PolicyRule } from './policy-rule.ts';
import { mastersGroup } from './rbac-authorizer.ts';

const read: readonly string[] = ['get', 'list', 'watch'];
const change: readonly string[] = ['create', 'delete', 'deletecollection', 'patch', 'update'];
const own: readonly string[] = [...change, ...read];

/** Resources are parted by spaces, to be read. */
function rule(verbs: readonly string[], group: string, resources: string): PolicyRule {
  return { verbs, apiGroups: [group], resources: resources.split(' ') };
}

function paths(nonResourceURLs: readonly string[]): PolicyRule {
  return { verbs: ['get'], nonResourceURLs };
}

const viewRules: readonly PolicyRule[] = [
  rule(
    read,
    '',
    'configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status pods replicationcontrollers ' +
      'replicationcontrollers/scale serviceaccounts services services/status',
  ),
  rule(
    read,
    '',
    'bindings events limitranges namespaces/status pods/log pods/status replicationcontrollers/status ' +
      'resourcequotas resourcequotas/status',
  ),
  rule(read, '', 'namespaces'),
  rule(read, 'discovery.k8s.io', 'endpointslices'),
  rule(
    read,
    'apps',
    'controllerrevisions daemonsets daemonsets/status deployments deployments/scale deployments/status replicasets ' +
      'replicasets/scale replicasets/status statefulsets statefulsets/scale statefulsets/status',
  ),
  rule(read, 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'),
  rule(read, 'batch', 'cronjobs cronjobs/status jobs jobs/status'),
  rule(
    read,
    'extensions',
    'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ingresses/status ' +
      'networkpolicies replicasets replicasets/scale replicasets/status replicationcontrollers/scale',
  ),
  rule(read, 'policy', 'poddisruptionbudgets poddisruptionbudgets/status'),
  rule(read, 'networking.k8s.io', 'ingresses ingresses/status networkpolicies'),
];

const editRules: readonly PolicyRule[] = [
  rule(read, '', 'pods/attach pods/exec pods/portforward pods/proxy secrets services/proxy'),
  rule(['impersonate'], '', 'serviceaccounts'),
  rule(change, '', 'pods pods/attach pods/exec pods/portforward pods/proxy'),
  rule(['create'], '', 'pods/eviction'),
  rule(
    change,
    '',
    'configmaps events persistentvolumeclaims replicationcontrollers replicationcontrollers/scale secrets ' +
      'serviceaccounts services services/proxy',
  ),
  rule(['create'], '', 'serviceaccounts/token'),
  rule(
    change,
    'apps',
    'daemonsets deployments deployments/rollback deployments/scale replicasets replicasets/scale statefulsets ' +
      'statefulsets/scale',
  ),
  rule(change, 'autoscaling', 'horizontalpodautoscalers'),
  rule(change, 'batch', 'cronjobs jobs'),
  rule(
    change,
    'extensions',
    'daemonsets deployments deployments/rollback deployments/scale ingresses networkpolicies replicasets ' +
      'replicasets/scale replicationcontrollers/scale',
  ),
  rule(change, 'policy', 'poddisruptionbudgets'),
  rule(change, 'networking.k8s.io', 'ingresses networkpolicies'),
  rule(own, 'coordination.k8s.io', 'leases'),
];

const adminRules: readonly PolicyRule[] = [
  rule(['create'], 'authorization.k8s.io', 'localsubjectaccessreviews'),
  rule(own, rbacGroup, 'rolebindings roles'),
];

const health = ['/healthz', '/livez', '/readyz', '/version', '/version/'];

const rulesByRole: Readonly<Record<string, readonly PolicyRule[]>> = {
  'cluster-admin': [rule(['*'], '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }],
  'system:auth-delegator': [
    rule(['create'], 'authentication.k8s.io', 'tokenreviews'),
    rule(['create'], 'authorization.k8s.io', 'subjectaccessreviews'),
  ],
  'system:basic-user': [
    rule(['create'], 'authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews'),
    rule(['create'], 'authentication.k8s.io', 'selfsubjectreviews'),
  ],
  'system:discovery': [paths(['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*', ...health])],
  'system:monitoring': [
    paths([
      ...['/healthz', '/livez', '/readyz'].flatMap((path) => [path, `${path}/*`]),
      '/metrics',
      '/metrics/slis',
    ]),
  ],
  'system:public-info-viewer': [paths(health)],
};

/** Collected by label, so that the roles of a custom resource can join in. */
const collected: readonly JsonObject[] = [
  collecting('admin', [...editRules, ...viewRules, ...adminRules]),
  collecting('edit', [...editRules, ...viewRules], 'admin'),
  collecting('view', viewRules, 'edit'),
  clusterRole('system:aggregate-to-admin', adminRules, aggregateTo('admin')),
  clusterRole('system:aggregate-to-edit', editRules, aggregateTo('edit')),
  clusterRole('system:aggregate-to-view', viewRules, aggregateTo('view')),
];

export const defaultRoles: readonly JsonObject[] = [
  ...Object.entries(rulesByRole).map(([name, rules]) => clusterRole(name, rules)),
  ...collected,
  clusterRoleBinding('cluster-admin', [mastersGroup]),
  clusterRoleBinding('system:basic-user', [authenticatedGroup]),
  clusterRoleBinding('system:discovery', [authenticatedGroup]),
  clusterRoleBinding('system:monitoring', ['system:monitoring']),
  clusterRoleBinding('system:public-info-viewer', [authenticatedGroup, ...anonymousCaller.groups]),
];

function aggregateTo(name: string): Readonly<Record<string, string>> {
  return { [`rbac.authorization.k8s.io/aggregate-to-${name}`]: 'true' };
}

/** With the rules that the controller finds, so that they are there where no controllers run. */
function collecting(name: string, rules: readonly PolicyRule[], into?: string): JsonObject {
  const role = clusterRole(name, rules, into === undefined ? {} : aggregateTo(into));
  return { ...role, aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateTo(name) }] } };
}

function clusterRole(
  name: string,
  rules: readonly PolicyRule[],
  labels: Readonly<Record<string, string>> = {},
): JsonObject {
  return { ...typeAndMeta('ClusterRole', name, labels), rules };
}

function clusterRoleBinding(name: string, groups: readonly string[]): JsonObject {
  return {
    ...typeAndMeta('ClusterRoleBinding', name),
    roleRef: { apiGroup: rbacGroup, kind: 'ClusterRole', name },
    subjects: groups.map((group) => ({ apiGroup: rbacGroup, kind: 'Group', name: group })),
  };
}

function typeAndMeta(kind: string, name: string, labels: Readonly<Record<string, string>> = {}): JsonObject {
  return {
    apiVersion: `${rbacGroup}/v1`,
    kind,
    metadata: {
      name,
      annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...labels },
    },
  };
}
