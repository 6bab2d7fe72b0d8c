/** events.k8s.io/v1: the events of the core group under other names, and with stricter rules for who writes them here. */
import type { JsonObject } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { eventsV1Schema } from '../schema/event-schema.ts';
import type { FieldReader } from '../selectors/field-selector.ts';
import { validateEventUpdate, validateNewEvent } from './event-validation.ts';
import { completeEvent, events } from './events.ts';
import { collectionOf, defineResource } from './resource-definition.ts';
import type { ResourceDefinition } from './resource-definition.ts';

/** From the names of the core group. */
const names: readonly (readonly [core: string, here: string])[] = [
  ['involvedObject', 'regarding'],
  ['message', 'note'],
  ['reportingComponent', 'reportingController'],
  ['source', 'deprecatedSource'],
  ['firstTimestamp', 'deprecatedFirstTimestamp'],
  ['lastTimestamp', 'deprecatedLastTimestamp'],
  ['count', 'deprecatedCount'],
];
const toHere = new Map(names);
const toCore = new Map(names.map(([core, here]) => [here, core]));
const group = 'events.k8s.io';

export const eventsV1: ResourceDefinition = defineResource({
  group,
  resource: 'events',
  singular: 'event',
  kind: 'Event',
  namespaced: true,
  shortNames: ['ev'],
  collected: false,
  createdByUpdate: true,
  schema: eventsV1Schema,
  columns: events.columns.map((column) => ({
    ...column,
    value: (event, now) => column.value(coreEvent(event), now),
  })),
  selectableFields: Object.fromEntries(Object.entries(events.selectableFields).flatMap(selectableHere)),
  stored: { collection: collectionOf(events), toStored: coreEvent, fromStored: shownEvent },
  default: (event) => shownEvent(completeEvent(coreEvent(event))),
  validate: (event, previous) =>
    previous === undefined
      ? validateNewEvent(coreEvent(event))
      : validateEventUpdate(coreEvent(event), coreEvent(previous)),
});

/** Selection looks at objects as they are stored, so that only the names differ. */
function selectableHere([field, read]: readonly [string, FieldReader]): [string, FieldReader][] {
  if (field === 'source') return [];
  if (field === 'reportingComponent') return [['reportingController', read]];
  return [[field.replace(/^involvedObject\./, 'regarding.'), read]];
}

function coreEvent(event: KubeObject): KubeObject {
  return event.apiVersion === 'v1' ? event : renamed(event, 'v1', toCore);
}

function shownEvent(event: KubeObject): KubeObject {
  return event.apiVersion === 'v1' ? renamed(event, `${group}/v1`, toHere) : event;
}

function renamed(
  { kind, metadata, ...fields }: KubeObject,
  apiVersion: string,
  to: ReadonlyMap<string, string>,
): KubeObject {
  const own: JsonObject = Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [to.get(name) ?? name, value]),
  );
  return { ...own, apiVersion, kind, metadata };
}
