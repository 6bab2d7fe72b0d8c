/** Events, as the core group and as events.k8s.io spell them. */
import { kindSchema } from './meta-schema.ts';
import { field, inline, int32, microTime, struct, text, time } from './schema.ts';
import type { Schema } from './schema.ts';
import { objectReference } from './volume-schema.ts';

const core = 'io.k8s.api.core.v1';
const events = 'io.k8s.api.events.v1';

const eventSource = struct(`${core}.EventSource`, 'Who tells.', [], {
  component: text('The program.'),
  host: text('The machine.'),
});

const seriesOf = (name: string, required: readonly string[]): Schema =>
  struct(name, 'The same again and again.', required, {
    count: int32('How often.'),
    lastObservedTime: microTime('When it was last seen.'),
  });

/** Of both. */
const sharedFields = {
  reason: text('What happened, as one word.'),
  type: text('Normal or Warning.'),
  eventTime: microTime('When it was first seen.'),
  action: text('What was done.'),
  related: field(objectReference, 'A second object.'),
};

export const eventSchema: Schema = kindSchema(
  `${core}.Event`,
  'Tells what happened to an object.',
  {
    ...sharedFields,
    involvedObject: inline(objectReference, 'The object.'),
    message: text('What happened, for people.'),
    source: inline(eventSource, 'Who tells.'),
    firstTimestamp: time('When it first happened.'),
    lastTimestamp: time('When it last happened.'),
    count: int32('How often it happened.'),
    series: field(seriesOf(`${core}.EventSeries`, []), 'The series that this is part of.'),
    reportingComponent: text('The controller.', { default: '' }),
    reportingInstance: text('The instance of the controller.', { default: '' }),
  },
  ['involvedObject'],
);

export const eventsV1Schema: Schema = kindSchema(
  `${events}.Event`,
  'Tells what happened to an object.',
  {
    ...sharedFields,
    regarding: inline(objectReference, 'The object.'),
    note: text('What happened, for people.'),
    series: field(
      seriesOf(`${events}.EventSeries`, ['count', 'lastObservedTime']),
      'The series that this is part of.',
    ),
    reportingController: text('The controller.'),
    reportingInstance: text('The instance of the controller.'),
    deprecatedSource: inline(eventSource, 'Who tells, of events of the core group.'),
    deprecatedFirstTimestamp: time('When it first happened, of events of the core group.'),
    deprecatedLastTimestamp: time('When it last happened, of events of the core group.'),
    deprecatedCount: int32('How often it happened, of events of the core group.'),
  },
  ['eventTime'],
);
