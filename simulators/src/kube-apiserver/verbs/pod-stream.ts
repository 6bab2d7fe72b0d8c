/**
 * exec, attach and portforward of a pod: from the request to the switch of protocols, as the apiserver and the kubelet behind it answer
 * together. What runs afterwards is in streams/.
 */
import { channelProtocols, unnamedProtocol } from '../../streams/channels.ts';
import { runAs, runCommand } from '../../streams/processes/run-process.ts';
import type { RemoteCommandOptions, RemoteStreams } from '../../streams/remote-streams.ts';
import { negotiate, type Agreement, type Offer } from '../../streams/server/negotiate.ts';
import { portForwardProtocol, servePortForward, tunnelProtocol } from '../../streams/server/port-forward.ts';
import { spdyCommandProtocols, SpdyRemoteStreams } from '../../streams/server/spdy-remote-command.ts';
import { WebSocketRemoteStreams } from '../../streams/server/websocket-remote-command.ts';
import { WebSocketConnection } from '../../streams/websocket/connection.ts';
import { WebSocketTunnel } from '../../streams/websocket/tunnel.ts';
import { ApiError } from '../api-error.ts';
import { attachTo } from '../containers/attach.ts';
import { requireAccess } from '../authorization/authorizer.ts';
import { listAt, objectAt, textAt } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { chooseContainer } from './choose-container.ts';
import type { ResourceExchange } from './resource-exchange.ts';

const subresources = ['exec', 'attach', 'portforward'] as const;

export type StreamSubresource = (typeof subresources)[number];

export function isStreamSubresource(name: string): name is StreamSubresource {
  return (subresources as readonly string[]).includes(name);
}

const commandOffer: Offer = {
  spdy: spdyCommandProtocols,
  webSocket: channelProtocols.map(({ name }) => name),
  unnamed: true,
};

/** As the kubelet: how long a client may take to open its streams. */
const streamCreationTimeoutMs = 30_000;

export async function servePodStream(
  exchange: ResourceExchange,
  subresource: StreamSubresource,
): Promise<void> {
  const { caller, cluster, definition, info } = exchange;
  // A WebSocket asks by GET; what it is about to do is a `create` all the same, and both are needed.
  if (info.verb !== 'create') requireAccess(cluster.authorizer, { caller, ...info, verb: 'create' });
  const pod = cluster.objects.get(definition, info.namespace, info.name);
  if (textAt(pod, 'spec', 'nodeName') === '')
    throw ApiError.badRequest(`pod ${nameOf(pod)} does not have a host assigned`);
  await (subresource === 'portforward'
    ? servePorts(exchange, pod)
    : serveCommand(exchange, pod, subresource));
}

async function serveCommand(
  exchange: ResourceExchange,
  pod: KubeObject,
  subresource: 'exec' | 'attach',
): Promise<void> {
  const { cluster, query, reply } = exchange;
  const name = chooseContainer(pod, query.get('container') ?? '');
  const agreement = agree(exchange, commandOffer);
  const running = isRunning(pod, name);
  const translated = agreement.kind === 'switch' && agreement.protocol === 'v5.channel.k8s.io';
  if (!running && !translated) return reply.send(500, 'text/plain; charset=utf-8', notFound(name));
  const options = commandOptions(query);
  if (!options.stdin && !options.stdout && !options.stderr)
    return reply.send(
      400,
      'text/plain; charset=utf-8',
      'you must specify at least 1 of stdin, stdout, stderr\n',
    );
  if (agreement.kind === 'refuse') return refuse(exchange, agreement);
  const streams = await openStreams(exchange, agreement, options);
  if (streams === undefined) return;
  if (!running) {
    await streams.finish({ kind: 'failed', message: `unable to upgrade connection: ${notFound(name)}` });
    return;
  }
  const { tty } = options;
  const container = cluster.containers.of(pod, name);
  if (subresource === 'exec')
    return runCommand(streams, { command: query.getAll('command'), tty }, container);
  const program = attachTo(cluster.logs.of(namespaceOf(pod), nameOf(pod), name), cluster.clock);
  await runAs(streams, { program, command: [], tty }, container);
}

async function servePorts(exchange: ResourceExchange, pod: KubeObject): Promise<void> {
  const { cluster, reply } = exchange;
  const agreement = agree(exchange, {
    spdy: [portForwardProtocol],
    webSocket: [tunnelProtocol],
    unnamed: false,
  });
  if (agreement.kind === 'refuse') return refuse(exchange, agreement);
  if (textAt(pod, 'status', 'phase') !== 'Running') {
    const why = `pod not found ("${nameOf(pod)}_${namespaceOf(pod)}")\n`;
    return reply.send(500, 'text/plain; charset=utf-8', why);
  }
  const connection = reply.switchProtocols(agreement.fields);
  if (connection === undefined) return;
  const below =
    agreement.via === 'spdy'
      ? connection
      : new WebSocketTunnel(new WebSocketConnection(connection, 'server'), connection);
  await servePortForward(below, {
    ...cluster.containers.listenersIn(pod),
    pod: pod.metadata.uid ?? '',
    streamCreationTimeoutMs,
    clock: cluster.clock,
  });
}

/** Throws BadRequest when no switch is asked for, or none that is known. */
function agree({ wire }: ResourceExchange, offer: Offer): Agreement {
  const agreement = negotiate((field) => wire.request.headerValues(field), offer);
  if (wire.upgrade === undefined || agreement === undefined)
    throw ApiError.badRequest('Upgrade request required');
  return agreement;
}

async function openStreams(
  { reply, cluster: { clock } }: ResourceExchange,
  { via, protocol, fields }: Extract<Agreement, { kind: 'switch' }>,
  options: RemoteCommandOptions,
): Promise<RemoteStreams | undefined> {
  const connection = reply.switchProtocols(fields);
  if (connection === undefined) return undefined;
  const ending = reply.streamEnding;
  if (via === 'spdy')
    return SpdyRemoteStreams.open(connection, {
      ...options,
      protocol,
      ending,
      streamCreationTimeoutMs,
      clock,
    });
  const channels = channelProtocols.find(({ name }) => name === protocol) ?? unnamedProtocol;
  return WebSocketRemoteStreams.open(connection, { ...options, protocol: channels, ending });
}

async function refuse(
  { reply }: ResourceExchange,
  { status, message, fields }: Extract<Agreement, { kind: 'refuse' }>,
): Promise<void> {
  await reply.send(status, 'text/plain; charset=utf-8', message, fields);
}

function commandOptions(query: URLSearchParams): RemoteCommandOptions {
  const asked = (name: string): boolean => ['true', '1'].includes(query.get(name) ?? '');
  const tty = asked('tty');
  // A terminal has one screen.
  return { stdin: asked('stdin'), stdout: asked('stdout'), stderr: asked('stderr') && !tty, tty };
}

function isRunning(pod: KubeObject, container: string): boolean {
  const status = listAt(pod, 'status', 'containerStatuses').find(
    (each) => textAt(each, 'name') === container,
  );
  return status !== undefined && 'running' in objectAt(status, 'state');
}

function notFound(container: string): string {
  return `container not found (${JSON.stringify(container)})\n`;
}
