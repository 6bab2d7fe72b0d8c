export { loadKubeconfig, resolveContext } from './cluster-access.ts';
export type {
  ClusterAccess,
  ContextResolution,
  Credential,
  ReadMaterial,
  RefusedContext,
} from './cluster-access.ts';
export { clusterProxyDialer } from './cluster-proxy.ts';
export { KubernetesError, kubernetesErrors } from './errors.ts';
export type { KubernetesErrorCode } from './errors.ts';
export { maxKubeconfigBytes, parseKubeconfig } from './kubeconfig.ts';
export type { Kubeconfig, KubeconfigCluster, KubeconfigContext, KubeconfigUser } from './kubeconfig.ts';
export { failureStatus } from './status.ts';
export type { Status, StatusCause, StatusFacts } from './status.ts';
