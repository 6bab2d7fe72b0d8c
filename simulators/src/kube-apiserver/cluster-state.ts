/** What all rooms of one server share. */
import type { AggregatedDiscovery } from './aggregated-discovery.ts';
import type { Authentication } from './authentication.ts';
import type { Authorizer } from './authorization/authorizer.ts';
import type { Clock } from './clock.ts';
import type { Containers } from './containers/containers.ts';
import type { LogBooks } from './logs/log-books.ts';
import type { OpenApiDocuments } from './openapi/openapi-v3.ts';
import type { ResourceRegistry } from './resources/resource-registry.ts';
import type { ObjectStore } from './store/object-store.ts';

export interface ClusterState {
  readonly name: string;
  /** Like `v1.35.2`. */
  readonly version: string;
  readonly clock: Clock;
  readonly registry: ResourceRegistry;
  readonly objects: ObjectStore;
  readonly logs: LogBooks;
  readonly containers: Containers;
  readonly openApi: OpenApiDocuments;
  readonly discovery: AggregatedDiscovery;
  readonly authentication: Authentication;
  readonly authorizer: Authorizer;
  readonly bookmarkIntervalMs: number;
}
