export type { ApiAccess, ApiCredential, ShownCredential } from './client/api-requests.ts';
export { ApiStatusError, isApiStatus } from './client/api-status-error.ts';
export type { RequestSender } from './client/answer.ts';
export { KubeClient } from './client/kube-client.ts';
export type {
  CallOptions,
  DeleteOptions,
  JsonPatchOperation,
  ListOptions,
  ObjectList,
  Patch,
  Selection,
  WriteOptions,
} from './client/kube-client.ts';
export { ShapeError } from './client/kube-object.ts';
export type {
  KubeObject,
  ObjectManifest,
  ObjectMeta,
  ObjectName,
  OwnerReference,
} from './client/kube-object.ts';
export { asItCame } from './client/resource-type.ts';
export type { ResourceType } from './client/resource-type.ts';
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
