export { systemClock } from './clock.ts';
export type { Clock, Timer } from './clock.ts';
export { directDialer } from './dialer.ts';
export type { DialOptions, DialTarget, Dialer } from './dialer.ts';
export { Endpoint } from './endpoint.ts';
export type { AlpnPolicy, EndpointOptions } from './endpoint.ts';
export { RoundhouseError, TransportError, transportErrors } from './errors.ts';
export type { CatalogueEntry, ErrorDetails, Retry, TransportErrorCode } from './errors.ts';
export { FileFollower } from './files/file-follower.ts';
export type { FileFollowerOptions, ReadFile } from './files/file-follower.ts';
export type {
  EndpointSource,
  FollowedEndpoint,
  Identity,
  IdentityCloseOptions,
  IdentityOptions,
} from './identity.ts';
export type {
  ConnectionEvent,
  IdentifiedTransportSnapshot,
  PoolSnapshot,
  TransportEvent,
  TransportSnapshot,
} from './inspect.ts';
export type { Lease } from './lease.ts';
export { profiles } from './limits.ts';
export type { Limits, ProfileName } from './limits.ts';
export type { Protocol } from './protocol-choice.ts';
export { TransportPool } from './pool.ts';
export type { CloseOptions, PoolOptions } from './pool.ts';
export { MaterialSource } from './material/material-source.ts';
export type {
  BadMaterial,
  CallbackOptions,
  MaterialChange,
  MaterialFollower,
  MaterialListener,
  MaterialSourceOptions,
  MaterialStatus,
  PushOptions,
} from './material/material-source.ts';
export type { LoadMaterial } from './material/callback-feed.ts';
export type { MaterialFiles } from './material/file-feed.ts';
export type {
  MaterialContent,
  MaterialContents,
  MaterialPartName,
  MaterialPartStatus,
} from './material/material-part.ts';
export { proxyDialer } from './proxy/proxy-dialer.ts';
export type { ProxyOptions } from './proxy/proxy-address.ts';
export { proxyFromEnvironment } from './proxy/proxy-from-environment.ts';
export type { ProxyChoice, ProxyEnvironment } from './proxy/proxy-from-environment.ts';
export { requestKinds } from './request.ts';
export type { RequestBody, RequestKind, RequestOptions, ResponseHandler } from './request.ts';
export type { OrdinaryAnswer, SwitchedAnswer, UpgradeAnswer, UpgradeOptions } from './upgrade.ts';
export { TlsMaterial } from './tls-material.ts';
export type { PemMaterial } from './tls-material.ts';
