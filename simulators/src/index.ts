export {
  CertificateAuthority,
  type CertificateAuthorityOptions,
  type CertificateRequest,
  type CertificateUsage,
  type IssuedCertificate,
  type KeyAlgorithm,
} from './certificate-authority.ts';
export { collectGarbage } from './collect-garbage.ts';
export type { WaitOptions } from './change-signal.ts';
export { ExchangeAborted, type Exchange, type Handler, type Reply, type ReplyHeaders } from './exchange.ts';
export { fuzzRuns, type FuzzRuns } from './fuzz-runs.ts';
export type { GoawayOptions, RecordedConnection, RecordedTls } from './recorded-connection.ts';
export type { HttpProtocol, RecordedRequest, RequestOutcome } from './recorded-request.ts';
export { RecordingServer, type RecordingServerOptions } from './recording-server.ts';
export type { RecordingTlsOptions } from './recording-tls.ts';
export { ApiError } from './kube-apiserver/api-error.ts';
export type { AuthenticationOptions, Caller, TokenUser } from './kube-apiserver/authentication.ts';
export type { Clock, Timer } from './kube-apiserver/clock.ts';
export type { ActiveFault, Fault, FaultRule, Moment } from './kube-apiserver/faults.ts';
export type { Json, JsonObject } from './kube-apiserver/json.ts';
export { KubeApiserver, type KubeApiserverOptions } from './kube-apiserver/kube-apiserver.ts';
export type { KubeObject } from './kube-apiserver/kube-object.ts';
export type { ListReference, ObjectReference } from './kube-apiserver/store/store-access.ts';
export { KonnectivityServer, type KonnectivityServerOptions } from './konnectivity/konnectivity-server.ts';
export { packetType, type SimPacket } from './konnectivity/packets.ts';
export type { SimulatedTunnel, TunnelBehaviour } from './konnectivity/simulated-tunnel.ts';
export { ManualClock } from './manual-clock.ts';
export { PluginFolder, execCredential, runningInGroup } from './plugin-folder.ts';
export type { ProxiedConnection, ProxyTarget } from './proxies/proxied-connection.ts';
export type { ProxyUser } from './proxies/proxy-protocol.ts';
export { ProxyServer, type ProxyServerOptions } from './proxies/proxy-server.ts';
export { Relay, type RelayOptions } from './relay.ts';
export type { RelayDirection, RelayTarget } from './relayed-connection.ts';
export { openSocketInodes } from './open-sockets.ts';
export { ResourceBaseline } from './resource-baseline.ts';
export { UpgradeConnection, UpgradeServer, type UpgradeServerOptions } from './upgrade-server.ts';
export { BytePipe, BrokenPipe, readAll, type ByteSink, type ByteSource } from './streams/byte-pipe.ts';
export { ConnectionGone } from './streams/byte-connection.ts';
export { ExecClient, type ExecExit, type ExecRequest } from './streams/clients/exec-client.ts';
export {
  openUpgrade,
  UpgradeRefused,
  type StreamTarget,
  type SwitchedConnection,
  type UpgradeAsk,
} from './streams/clients/open-upgrade.ts';
export {
  ForwardedConnection,
  PortForwardClient,
  type PortForwardRequest,
} from './streams/clients/port-forward-client.ts';
export type { PodConnection, PodServer } from './streams/pod-servers/pod-connection.ts';
export type { ProcessContext, Program } from './streams/processes/program.ts';
export type { StreamEnding } from './streams/server/stream-ending.ts';
export { SocketConnection } from './streams/socket-connection.ts';
export { turns, until } from './until.ts';
