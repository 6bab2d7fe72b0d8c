import { numberAt, textAt } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { nameOf } from '../kube-object.ts';
import { age } from '../printing/human-duration.ts';
import { eventSchema } from '../schema/event-schema.ts';
import { text, wide } from './columns.ts';
import { validateEvent } from './event-validation.ts';
import { defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

const involved = (field: string) => (event: KubeObject) => textAt(event, 'involvedObject', field);

/** The core/v1 form, in which events are stored, and which is what kubectl asks for. */
export const events: ResourceDefinition = defineResource({
  resource: 'events',
  singular: 'event',
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  schema: eventSchema,
  columns: [
    text('Last Seen', lastSeen),
    text('Type', (event) => textAt(event, 'type')),
    text('Reason', (event) => textAt(event, 'reason')),
    text('Object', (event) => `${involved('kind')(event).toLowerCase()}/${involved('name')(event)}`),
    wide(text('Subobject', (event) => involved('fieldPath')(event))),
    wide(text('Source', source)),
    text('Message', (event) => textAt(event, 'message').trim()),
    wide(
      text('First Seen', (event, now) =>
        age(textAt(event, 'firstTimestamp') || textAt(event, 'eventTime'), now),
      ),
    ),
    wide(text('Count', (event) => String(count(event)))),
    wide(text('Name', nameOf)),
  ],
  collected: false,
  createdByUpdate: true,
  default: completeEvent,
  validate: validateEvent,
  selectableFields: {
    'involvedObject.kind': involved('kind'),
    'involvedObject.namespace': involved('namespace'),
    'involvedObject.name': involved('name'),
    'involvedObject.uid': involved('uid'),
    'involvedObject.apiVersion': involved('apiVersion'),
    'involvedObject.resourceVersion': involved('resourceVersion'),
    'involvedObject.fieldPath': involved('fieldPath'),
    reason: (event) => textAt(event, 'reason'),
    reportingComponent: (event) => textAt(event, 'reportingComponent'),
    source: (event) => textAt(event, 'source', 'component') || textAt(event, 'reportingComponent'),
    type: (event) => textAt(event, 'type'),
  },
});

/** What an event always has, if only as nothing. */
export function completeEvent(event: KubeObject): KubeObject {
  const blank = { source: {}, firstTimestamp: null, lastTimestamp: null, eventTime: null };
  return { ...blank, reportingComponent: '', reportingInstance: '', ...event };
}

/** Of the series, of the older kind of event, or one. */
function count(event: KubeObject): number {
  return numberAt(event, 'series', 'count') ?? (numberAt(event, 'count') || 1);
}

function lastSeen(event: KubeObject, now: number): string {
  return age(
    textAt(event, 'series', 'lastObservedTime') ||
      textAt(event, 'lastTimestamp') ||
      textAt(event, 'eventTime'),
    now,
  );
}

function source(event: KubeObject): string {
  const component = textAt(event, 'source', 'component') || textAt(event, 'reportingComponent');
  const instance = textAt(event, 'source', 'host') || textAt(event, 'reportingInstance');
  return [component, instance].filter((part) => part !== '').join(', ');
}
