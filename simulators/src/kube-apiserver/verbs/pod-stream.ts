/**
 * exec, attach and portforward of a pod: from the request to the switch of protocols, as the apiserver and the kubelet behind it answer
 * together. What runs afterwards is in streams/.
 */
import { channelProtocols, unnamedProtocol } from '../../streams/channels.ts';
import { runCommand, type ContainerContext } from '../../streams/processes/run-process.ts';
import type { RemoteCommandOptions, RemoteStreams } from '../../streams/remote-streams.ts';
import { negotiate, type Agreement, type Offer } from '../../streams/server/negotiate.ts';
import { spdyCommandProtocols, SpdyRemoteStreams } from '../../streams/server/spdy-remote-command.ts';
import { WebSocketRemoteStreams } from '../../streams/server/websocket-remote-command.ts';
import { ApiError } from '../api-error.ts';
import { requireAccess } from '../authorization/authorizer.ts';
import { listAt, objectAt, textAt } from '../json.ts';
import { nameOf } from '../kube-object.ts';
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
  if (subresource === 'portforward') throw ApiError.badRequest('not yet');
  await serveCommand(exchange, pod);
}

async function serveCommand(exchange: ResourceExchange, pod: KubeObject): Promise<void> {
  const { cluster, query, reply, wire } = exchange;
  const name = chooseContainer(pod, query.get('container') ?? '');
  const agreement = negotiate((field) => wire.request.headerValues(field), commandOffer);
  if (wire.upgrade === undefined || agreement === undefined)
    throw ApiError.badRequest('Upgrade request required');
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
  const container: ContainerContext = cluster.containers.of(pod, name);
  await runCommand(streams, { command: query.getAll('command'), tty: options.tty }, container);
}

async function openStreams(
  { reply }: ResourceExchange,
  { via, protocol, fields }: Extract<Agreement, { kind: 'switch' }>,
  options: RemoteCommandOptions,
): Promise<RemoteStreams | undefined> {
  const connection = reply.switchProtocols(fields);
  if (connection === undefined) return undefined;
  const ending = reply.streamEnding;
  if (via === 'spdy')
    return SpdyRemoteStreams.open(connection, { ...options, protocol, ending, streamCreationTimeoutMs });
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
