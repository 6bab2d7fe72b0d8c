/** A kind of objects: how it is called, where it is found, and what its objects are read as. */

import { KubernetesError } from '../errors.ts';
import type { KubeObject } from './kube-object.ts';

export interface ResourceType<Item extends KubeObject = KubeObject> {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** As in paths, for instance `configmaps`. */
  readonly plural: string;
  readonly namespaced: boolean;
  /** Throws a ShapeError for an object that is none of these. */
  readonly read: (object: KubeObject) => Item;
}

/** For `ResourceType.read` where nothing but the metadata is looked at. */
export const asItCame = (object: KubeObject): KubeObject => object;

/** `v1`, `apps/v1`. */
export function apiVersionOf({ group, version }: ResourceType): string {
  return group === '' ? version : `${group}/${version}`;
}

/** `configmaps`, `deployments.apps`: for messages. */
export function qualifiedName({ group, plural }: ResourceType): string {
  return group === '' ? plural : `${plural}.${group}`;
}

export interface ResourceLocation {
  /** Undefined: of all namespaces, or of the whole cluster. */
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  /** For instance `status`. */
  readonly subresource?: string | undefined;
}

/** @throws ERR_RH_API_REQUEST_INVALID for names that would make another path of it */
export function pathOf(type: ResourceType, { namespace, name, subresource }: ResourceLocation): string {
  if (!type.namespaced && namespace !== undefined) {
    throw invalid(type, 'belong to the whole cluster, and a namespace is given');
  }
  if (type.namespaced && name !== undefined && namespace === undefined) {
    throw invalid(type, 'belong to a namespace, and none is given');
  }
  const root = type.group === '' ? '/api' : `/apis/${type.group}`;
  const segments = [
    ...(namespace === undefined ? [] : ['namespaces', segment(type, namespace)]),
    type.plural,
    ...(name === undefined ? [] : [segment(type, name)]),
    ...(subresource === undefined ? [] : [segment(type, subresource)]),
  ];
  return `${root}/${type.version}/${segments.join('/')}`;
}

/** The rule of the API for a name in a path (k8s.io/apimachinery, pkg/api/validation/path). */
function segment(type: ResourceType, text: string): string {
  if (text === '' || text === '.' || text === '..' || /[/%]/.test(text)) {
    throw invalid(
      type,
      'have no names that are empty, `.` or `..`, or have a slash or a percent sign in them',
    );
  }
  return encodeURIComponent(text);
}

function invalid(type: ResourceType, reason: string): KubernetesError {
  return new KubernetesError('ERR_RH_API_REQUEST_INVALID', `${qualifiedName(type)} ${reason}`);
}
