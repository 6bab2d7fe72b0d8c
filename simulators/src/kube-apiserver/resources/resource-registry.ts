/** The resources that are served. Built-in ones are given at the start; others may come and go while the server runs. */
import {
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
} from './access-reviews.ts';
import { configMaps } from './config-maps.ts';
import { customResourceDefinitions } from './custom-resource-definitions.ts';
import { deployments } from './deployments.ts';
import { endpointSlices } from './endpoint-slices.ts';
import { eventsV1 } from './events-v1.ts';
import { events } from './events.ts';
import { leases } from './leases.ts';
import { namespaces } from './namespaces.ts';
import { nodes } from './nodes.ts';
import { pods } from './pods.ts';
import { replicaSets } from './replica-sets.ts';
import { apiVersionOf, collectionOf } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';
import { clusterRoleBindings, roleBindings } from './role-bindings.ts';
import { clusterRoles, roles } from './roles.ts';
import { secrets } from './secrets.ts';
import { selfSubjectReviews } from './self-subject-reviews.ts';
import { serviceAccounts } from './service-accounts.ts';
import { services } from './services.ts';
import { tokenReviews } from './token-reviews.ts';

export const builtInResources: readonly ResourceDefinition[] = [
  configMaps,
  events,
  namespaces,
  nodes,
  pods,
  secrets,
  serviceAccounts,
  services,
  deployments,
  replicaSets,
  endpointSlices,
  eventsV1,
  leases,
  roles,
  roleBindings,
  clusterRoles,
  clusterRoleBindings,
  selfSubjectReviews,
  tokenReviews,
  localSubjectAccessReviews,
  selfSubjectAccessReviews,
  selfSubjectRulesReviews,
  subjectAccessReviews,
  customResourceDefinitions,
];

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
}

export class ResourceRegistry {
  readonly #byPath = new Map<string, ResourceDefinition>();
  readonly #byKind = new Map<string, ResourceDefinition>();
  #revision = 0;

  constructor(definitions: readonly ResourceDefinition[]) {
    for (const definition of definitions) this.add(definition);
  }

  /** Changes whenever other resources are served. */
  get revision(): number {
    return this.#revision;
  }

  add(definition: ResourceDefinition): void {
    this.#revision += 1;
    this.#byPath.set(`${apiVersionOf(definition)}/${definition.resource}`, definition);
    this.#byKind.set(`${apiVersionOf(definition)}/${definition.kind}`, definition);
  }

  remove(definition: ResourceDefinition): void {
    this.#revision += 1;
    this.#byPath.delete(`${apiVersionOf(definition)}/${definition.resource}`);
    this.#byKind.delete(`${apiVersionOf(definition)}/${definition.kind}`);
  }

  byResource(group: string, version: string, resource: string): ResourceDefinition | undefined {
    return this.#byPath.get(`${apiVersionOf({ group, version })}/${resource}`);
  }

  byKind(apiVersion: string, kind: string): ResourceDefinition | undefined {
    return this.#byKind.get(`${apiVersion}/${kind}`);
  }

  all(): readonly ResourceDefinition[] {
    return [...this.#byPath.values()];
  }

  /** One resource for each collection of objects, however many versions or groups show it. */
  stored(): readonly ResourceDefinition[] {
    const found = new Map<string, ResourceDefinition>();
    for (const definition of this.#byPath.values()) {
      const collection = collectionOf(definition);
      if (definition.answer === undefined && !found.has(collection)) found.set(collection, definition);
    }
    return [...found.values()];
  }

  /** Each once, in the order in which they were first added. */
  groupVersions(): readonly GroupVersion[] {
    const found = new Map<string, GroupVersion>();
    for (const { group, version } of this.#byPath.values()) {
      const key = apiVersionOf({ group, version });
      if (!found.has(key)) found.set(key, { group, version });
    }
    return [...found.values()];
  }

  of(groupVersion: GroupVersion): readonly ResourceDefinition[] {
    return this.all().filter(
      ({ group, version }) => group === groupVersion.group && version === groupVersion.version,
    );
  }
}
