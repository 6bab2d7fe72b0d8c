/**
 * What the simulator knows of one kind of resource. Each kind has a file that fills this shape; the rooms that serve requests know
 * nothing of kinds. A definition is plain data and functions without state, so that custom resources can be made into one too.
 */
import type { StatusCause } from '../api-error.ts';
import type { Clock } from '../clock.ts';
import type { Caller } from '../authentication.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import type { KubeObject } from '../kube-object.ts';
import { mergeSchemaOf } from '../patch/merge-schema.ts';
import type { MergeSchema } from '../patch/merge-schema.ts';
import type { Schema } from '../schema/schema.ts';
import type { FieldReader } from '../selectors/field-selector.ts';

export type Verb = 'create' | 'delete' | 'deletecollection' | 'get' | 'list' | 'patch' | 'update' | 'watch';

const everyVerb: readonly Verb[] = [
  'create',
  'delete',
  'deletecollection',
  'get',
  'list',
  'patch',
  'update',
  'watch',
];

export interface Column {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'number' | 'boolean' | 'date';
  readonly format: '' | 'name';
  /** 0 is always shown, 1 only by `-o wide`. */
  readonly priority: 0 | 1;
  readonly description: string;
  value(object: KubeObject, now: number): string | number | boolean | null;
}

/** What defaulting may need to know beside the object. */
export interface AdmissionContext {
  readonly clock: Clock;
  /** The stored state on update, undefined on create. */
  readonly previous: KubeObject | undefined;
  /** A cluster IP that no service has. */
  allocateClusterIp(): string;
}

/** Who asks what is answered and not stored, and who knows the answers. */
export interface Asking {
  readonly caller: Caller;
  /** Of the path; empty for cluster-scoped resources. */
  readonly namespace: string;
  readonly authorizer: Authorizer;
  /** Undefined when nobody has that token. */
  readonly callerOf: (token: string) => Caller | undefined;
}

/** For resources that show what another one stores, or store what another one shows. */
export interface StoredForm {
  /** `<group>/<resource>` of those that share the objects. Default: its own. */
  readonly collection?: string;
  toStored(object: KubeObject): KubeObject;
  /** Leaves alone what is in this form already. */
  fromStored(stored: KubeObject): KubeObject;
}

/** Where `/scale` reads and writes; paths are of field names. */
export interface ScalePaths {
  readonly specReplicas: readonly string[];
  readonly statusReplicas: readonly string[];
  /** As in a query: `app=web`. */
  selector(object: KubeObject): string;
}

export interface ResourceDefinition {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** Plural, as in paths. */
  readonly resource: string;
  readonly singular: string;
  readonly kind: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly Verb[];
  /** Whether status is written through `/status` only, and `generation` counts changes of the rest. */
  readonly hasStatus: boolean;
  /** After NAME, which every resource has, and before AGE if `ages`. */
  readonly columns: readonly Column[];
  /** Undefined: it has no `/scale`. */
  readonly scale: ScalePaths | undefined;
  readonly selectableFields: Readonly<Record<string, FieldReader>>;
  readonly schema: Schema;
  /** Of a custom resource: it has no types of its own in the server, and no strategic merge patch. */
  readonly custom: boolean;
  /** Paths that the server fills in on creation in nobody's name. */
  readonly serverFields: readonly (readonly string[])[];
  /** Whether an update has to name the version that it changes. */
  readonly versionedUpdates: boolean;
  /** Whether an update of what is not there creates it. */
  readonly createdByUpdate: boolean;
  /** Undefined: objects are stored as they are shown. */
  readonly stored: StoredForm | undefined;
  /** How strategic merge patch treats lists; undefined: this kind takes JSON and merge patches only. */
  readonly mergeSchema: MergeSchema | undefined;
  /** Names may hold whatever fits into one segment of a path; else they are DNS subdomains. */
  readonly pathNames: boolean;
  /** Fills in what the real server would, on create and on update. */
  default(object: KubeObject, context: AdmissionContext): KubeObject;
  /** Causes for 422; `previous` on update. */
  validate(object: KubeObject, previous: KubeObject | undefined): readonly StatusCause[];
  /** Whether it holds content of which a controller empties it before it goes. */
  readonly holdsContent: boolean;
  /** Undefined: it is not deleted gracefully. Else how long the object may take, `asked` being what the caller says. */
  readonly gracePeriodSeconds: ((object: KubeObject, asked: number | undefined) => number) | undefined;
  /** Whether garbage collection knows of it: whether it goes with its owners, and holds what it owns. */
  readonly collected: boolean;
  /** Whether a deletion that is complete answers with the object; else with a status. */
  readonly shownWhenDeleted: boolean;
  /** For resources that are answered and never stored, like reviews. */
  readonly answer: ((object: KubeObject, asking: Asking) => KubeObject) | undefined;
}

type Required = 'resource' | 'singular' | 'kind' | 'namespaced' | 'schema';

/** A definition with the ordinary answers for everything that is not given. */
export function defineResource(
  given: Pick<ResourceDefinition, Required> & Partial<ResourceDefinition>,
): ResourceDefinition {
  return {
    group: '',
    version: 'v1',
    shortNames: [],
    categories: [],
    verbs: everyVerb,
    hasStatus: false,
    scale: undefined,
    columns: [],
    selectableFields: {},
    custom: false,
    serverFields: [],
    versionedUpdates: false,
    createdByUpdate: false,
    stored: undefined,
    pathNames: false,
    mergeSchema: given.custom === true ? undefined : mergeSchemaOf(given.schema),
    default: (object) => object,
    validate: () => [],
    holdsContent: false,
    gracePeriodSeconds: undefined,
    collected: true,
    shownWhenDeleted: false,
    answer: undefined,
    ...given,
  };
}

/** The name of the collection that its objects are in, which several resources may share. */
export function collectionOf({ group, resource, stored }: ResourceDefinition): string {
  return stored?.collection ?? `${group}/${resource}`;
}

export function apiVersionOf(definition: Pick<ResourceDefinition, 'group' | 'version'>): string {
  return definition.group === '' ? definition.version : `${definition.group}/${definition.version}`;
}
