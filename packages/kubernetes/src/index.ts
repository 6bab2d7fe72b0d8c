export type { ApiAccess } from './client/api-requests.ts';
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
  WatchOptions,
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
  ResolveOptions,
} from './cluster-access.ts';
export { clusterProxyDialer } from './cluster-proxy.ts';
export type { CredentialOutcome, CredentialSource } from './credentials/credential-source.ts';
export { execPolicies } from './credentials/exec-plugin.ts';
export type { ExecPlugin, ExecPolicy } from './credentials/exec-plugin.ts';
export { ExecSources } from './credentials/exec-sources.ts';
export type { ExecRun, ExecSourcesOptions, ExecUser } from './credentials/exec-sources.ts';
export { GivenCredential } from './credentials/given-credential.ts';
export { PresentCredential } from './credentials/present-credential.ts';
export type { ClientPair, PresentCredentialParts } from './credentials/present-credential.ts';
export { endOfToken } from './credentials/token-end.ts';
export { TokenFile } from './credentials/token-file.ts';
export type { TokenFileOptions } from './credentials/token-file.ts';
export { KubernetesError, kubernetesErrors } from './errors.ts';
export type { KubernetesErrorCode } from './errors.ts';
export { Informer } from './informer/informer.ts';
export type { InformerHandlers, InformerOptions, InformerSnapshot } from './informer/informer.ts';
export type { ReflectorOptions, ReflectorSnapshot, ReflectorState } from './informer/reflector.ts';
export { maxKubeconfigBytes, parseKubeconfig } from './kubeconfig.ts';
export type {
  Kubeconfig,
  KubeconfigCluster,
  KubeconfigContext,
  KubeconfigExec,
  KubeconfigUser,
} from './kubeconfig.ts';
export { EventRecorder } from './events/event-recorder.ts';
export type { EventNote, EventRecorderOptions } from './events/event-recorder.ts';
export { LeaderElection } from './lease/leader-election.ts';
export type { LeaderElectionOptions } from './lease/leader-election.ts';
export { WorkQueue } from './queue/work-queue.ts';
export type { WorkOutcome, WorkQueueOptions, WorkQueueSnapshot } from './queue/work-queue.ts';
export { secretBytes, secrets } from './secret/secret.ts';
export type { Secret } from './secret/secret.ts';
export { SecretSource } from './secret/secret-source.ts';
export type { SecretKeys, SecretSourceOptions } from './secret/secret-source.ts';
export { failureStatus } from './status.ts';
export type { Status, StatusCause, StatusFacts } from './status.ts';
export type { BookmarkEvent, ObjectEvent, WatchEvent } from './watch/watch-event.ts';
export type { WatchLimits } from './watch/watch-request.ts';
