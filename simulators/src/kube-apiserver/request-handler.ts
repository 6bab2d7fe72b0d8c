/** A request's way through the rooms: record, fault, authentication, impersonation, authorisation, then the answer. */
import { ExchangeAborted } from '../exchange.ts';
import type { Exchange as WireExchange } from '../exchange.ts';
import type { DiscoveryDocument } from './aggregated-discovery.ts';
import { ApiError } from './api-error.ts';
import { accessOf } from './authorization/access-of.ts';
import { requireAccess } from './authorization/authorizer.ts';
import type { ClusterState } from './cluster-state.ts';
import { discoveryDocument, healthText } from './discovery.ts';
import { header, splitTarget } from './exchange.ts';
import type { AuthenticatedExchange, Exchange } from './exchange.ts';
import { applyFault } from './fault-application.ts';
import type { Faults } from './faults.ts';
import { impersonate } from './impersonation.ts';
import { openApiV2Document, openApiV2Protobuf } from './openapi/openapi-v2.ts';
import type { OpenApiDocument } from './openapi/openapi-v3.ts';
import { negotiate, negotiateDiscovery } from './printing/accept.ts';
import { Reply } from './reply.ts';
import type { Headers } from './reply.ts';
import { parseResourceRequest } from './request-info.ts';
import type { ResourceRequest } from './request-info.ts';
import { serveDelete, serveDeleteCollection } from './verbs/delete.ts';
import { servePodLog } from './verbs/pod-log.ts';
import { isStreamSubresource, servePodStream } from './verbs/pod-stream.ts';
import { serveGet, serveList } from './verbs/read.ts';
import type { ResourceExchange } from './verbs/resource-exchange.ts';
import { serveScale } from './verbs/scale.ts';
import { serveWatch } from './verbs/watch.ts';
import { serveCreate, servePatch, serveUpdate } from './verbs/write.ts';

export interface RequestRooms {
  readonly cluster: ClusterState;
  readonly faults: Faults;
}

/** Of each body, once it has been answered; what a test may want to look at. */
const rememberedBodyBytes = 4096;

/** Never rejects, but for the client's leaving. */
export async function handleRequest(rooms: RequestRooms, wire: WireExchange): Promise<void> {
  const exchange: Exchange = { wire, reply: new Reply(wire), ...splitTarget(wire.request.path) };
  try {
    const fault = rooms.faults.take(wire.request);
    if (fault !== undefined && (await applyFault(fault, exchange)) === 'answered') return;
    await answer(rooms.cluster, exchange);
  } catch (error) {
    await refuse(exchange, error);
  } finally {
    wire.request.trimBody(rememberedBodyBytes);
  }
}

async function answer(cluster: ClusterState, exchange: Exchange): Promise<void> {
  const { request } = exchange.wire;
  const { authentication, authorizer } = cluster;
  const caller = impersonate(request, authentication.authenticate(request), authorizer);
  const info = parseResourceRequest(request.method, exchange.path, exchange.query);
  if (info === undefined) await serveDocument(cluster, { ...exchange, caller });
  else await serveResource(cluster, { ...exchange, caller }, info);
}

async function serveDocument(cluster: ClusterState, exchange: AuthenticatedExchange): Promise<void> {
  const { caller, path, query, reply } = exchange;
  const { method } = exchange.wire.request;
  requireAccess(cluster.authorizer, { caller, verb: method.toLowerCase(), path });
  const health = healthText(path, query);
  if (health !== undefined) return reply.send(200, 'text/plain; charset=utf-8', health);
  if (path === '/openapi/v2') return serveOpenApiV2(cluster, exchange);
  const description = cluster.openApi.at(path);
  if (description !== undefined) return serveOpenApiV3(exchange, description);
  const wanted = negotiateDiscovery(header(exchange, 'accept'));
  const aggregated = wanted === undefined ? undefined : cluster.discovery.at(path, wanted);
  if (aggregated !== undefined) return serveAggregated(exchange, aggregated);
  const document = discoveryDocument(cluster, path);
  if (document === undefined) return reply.send(404, 'text/plain; charset=utf-8', '404 page not found\n');
  if (method !== 'GET' && method !== 'HEAD') throw ApiError.methodNotAllowed();
  if (negotiate(header(exchange, 'accept')) !== 'object') throw ApiError.notAcceptable(['application/json']);
  await reply.json(200, document);
}

/** kubectl names two spellings of the protobuf type, of which the older has an `@`. */
async function serveOpenApiV2(cluster: ClusterState, exchange: Exchange): Promise<void> {
  const { json, protobuf } = openApiV2Document(cluster.version);
  const wantsProtobuf = /proto-openapi\.spec\.v2[.@]v1\.0\+protobuf/.test(header(exchange, 'accept'));
  return wantsProtobuf
    ? exchange.reply.send(200, openApiV2Protobuf, protobuf)
    : exchange.reply.json(200, json);
}

/** A document that is asked for by its hash never changes under that address; with another hash, the right one is named. */
async function serveOpenApiV3(exchange: Exchange, { text, hash }: OpenApiDocument): Promise<void> {
  const { path, query, reply } = exchange;
  const asked = query.get('hash');
  if (asked !== null && asked !== hash)
    return reply.send(301, 'text/plain; charset=utf-8', '', { Location: `${path}?hash=${hash}` });
  const headers = {
    ETag: `"${hash}"`,
    Vary: 'Accept',
    ...(asked === null ? {} : { 'Cache-Control': 'public, immutable' }),
  };
  // The real server leaves the type of the index to be guessed from its bytes.
  const contentType = path === '/openapi/v3' ? 'text/plain; charset=utf-8' : 'application/json';
  await serveTagged(exchange, { contentType, text }, headers);
}

async function serveAggregated(exchange: Exchange, document: DiscoveryDocument): Promise<void> {
  const headers = { ETag: `"${document.hash}"`, Vary: 'Accept', 'Cache-Control': 'public' };
  await serveTagged(exchange, document, headers);
}

/** With 304 for who has it already. */
async function serveTagged(
  { wire, reply }: Exchange,
  { contentType, text }: { readonly contentType: string; readonly text: string },
  headers: { readonly ETag: string } & Headers,
): Promise<void> {
  const known = wire.request.headerValues('if-none-match').flatMap((value) => value.split(/\s*,\s*/));
  if (known.includes(headers.ETag) || known.includes(`W/${headers.ETag}`)) {
    await reply.begin(304, headers);
    return reply.end();
  }
  await reply.send(200, contentType, text, headers);
}

async function serveResource(
  cluster: ClusterState,
  exchange: AuthenticatedExchange,
  info: ResourceRequest,
): Promise<void> {
  requireAccess(cluster.authorizer, accessOf(exchange.caller, info, exchange.query));
  const definition = cluster.registry.byResource(info.group, info.version, info.resource);
  if (definition === undefined) throw ApiError.noResource();
  const resourceExchange: ResourceExchange = {
    ...exchange,
    cluster,
    definition,
    info,
    form: negotiate(header(exchange, 'accept')),
  };
  await serveVerb(resourceExchange);
}

async function serveVerb(exchange: ResourceExchange): Promise<void> {
  const { definition, info } = exchange;
  if (info.subresource !== '') return serveSubresource(exchange);
  // Objects of a namespaced resource are named within a namespace only.
  if (
    definition.namespaced !== (info.namespace !== '') &&
    (info.name !== '' || info.verb === 'create' || info.namespace !== '')
  )
    throw ApiError.noResource();
  if (!definition.verbs.includes(info.verb)) throw ApiError.methodNotAllowed();
  switch (info.verb) {
    case 'get':
      return serveGet(exchange);
    case 'list':
      return serveList(exchange);
    case 'watch':
      return serveWatch(exchange);
    case 'create':
      if (info.name !== '') throw ApiError.methodNotAllowed();
      return serveCreate(exchange);
    case 'update':
      if (info.name === '') throw ApiError.methodNotAllowed();
      return serveUpdate(exchange);
    case 'patch':
      if (info.name === '') throw ApiError.methodNotAllowed();
      return servePatch(exchange);
    case 'delete':
      return serveDelete(exchange);
    case 'deletecollection':
      return serveDeleteCollection(exchange);
  }
}

async function serveSubresource(exchange: ResourceExchange): Promise<void> {
  const { definition, info } = exchange;
  if (info.subresource === 'log' && definition.kind === 'Pod') {
    if (info.verb !== 'get') throw ApiError.methodNotAllowed();
    return servePodLog(exchange);
  }
  if (definition.kind === 'Pod' && isStreamSubresource(info.subresource)) {
    if (info.verb !== 'get' && info.verb !== 'create') throw ApiError.methodNotAllowed();
    return servePodStream(exchange, info.subresource);
  }
  if (info.subresource === 'scale' && definition.scale !== undefined)
    return serveScale(exchange, definition.scale);
  if (info.subresource !== 'status' || !definition.hasStatus) throw ApiError.noResource();
  switch (info.verb) {
    case 'get':
      return serveGet(exchange);
    case 'update':
      return serveUpdate(exchange);
    case 'patch':
      return servePatch(exchange);
    default:
      throw ApiError.methodNotAllowed();
  }
}

async function refuse({ reply, wire }: Exchange, error: unknown): Promise<void> {
  // Nobody is left to tell.
  if (error instanceof ExchangeAborted || reply.closed.aborted) return;
  // A stream that broke after its head was sent can only be cut.
  if (reply.begun) return wire.reset();
  const failure =
    error instanceof ApiError
      ? error
      : ApiError.internal(error instanceof Error ? error.message : String(error));
  const challenge = failure.code === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  await reply.json(failure.code, failure.toStatus(), { ...failure.headers, ...challenge });
}
