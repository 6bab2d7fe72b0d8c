/** One line of a watch (k8s.io/apimachinery, meta/v1, WatchEvent), checked. */

import { failureIn } from '../client/api-status-error.ts';
import type { ApiFailure } from '../client/api-status-error.ts';
import { isFields } from '../client/fields.ts';
import { ShapeError, readKubeObject } from '../client/kube-object.ts';
import type { KubeObject } from '../client/kube-object.ts';

/** Something has changed. With DELETED it is the object as it was last. */
export interface ObjectEvent<Item extends KubeObject = KubeObject> {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly object: Item;
}

/** Nothing has changed up to this version: a watch may begin anew from there. */
export interface BookmarkEvent {
  readonly type: 'BOOKMARK';
  readonly resourceVersion: string;
}

export type WatchEvent<Item extends KubeObject = KubeObject> = ObjectEvent<Item> | BookmarkEvent;

/** The watch is over, for this reason. */
export interface ErrorEvent {
  readonly type: 'ERROR';
  readonly failure: ApiFailure;
}

/** @throws ShapeError; nothing of the line is quoted */
export function readWatchEvent(
  line: string,
  kind: { readonly apiVersion: string; readonly kind: string },
): WatchEvent | ErrorEvent {
  const event = parse(line);
  const type = isFields(event) ? event['type'] : undefined;
  if (!isFields(event) || typeof type !== 'string') {
    throw new ShapeError('a line is no event');
  }
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
    case 'DELETED':
      return { type, object: readKubeObject(event['object'], kind) };
    case 'BOOKMARK':
      return { type, resourceVersion: versionOf(readKubeObject(event['object'], kind)) };
    case 'ERROR':
      return { type, failure: failureIn(event['object'], 500) };
    default:
      throw new ShapeError('an event is of a type that is not known');
  }
}

function parse(line: string): unknown {
  try {
    const value: unknown = JSON.parse(line);
    return value;
  } catch {
    throw new ShapeError('a line is not JSON');
  }
}

function versionOf({ metadata }: KubeObject): string {
  if (metadata.resourceVersion === undefined || metadata.resourceVersion === '') {
    throw new ShapeError('a bookmark has no resourceVersion');
  }
  return metadata.resourceVersion;
}
