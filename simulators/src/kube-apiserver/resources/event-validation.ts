/** Rules on events, which are stricter for those that are written as events.k8s.io/v1 (kubernetes/pkg/apis/core/validation/events.go). */
import type { StatusCause } from '../api-error.ts';
import { equalJson, isJsonObject, numberAt, textAt } from '../json.ts';
import type { KubeObject } from '../kube-object.ts';
import { namespaceOf } from '../kube-object.ts';
import { qualifiedNameProblem } from './metadata-validation.ts';
import { immutableField, invalidField, requiredField } from './validation.ts';

/** In the form of the core group, as all of these. */
export function validateEvent(event: KubeObject): readonly StatusCause[] {
  const about = textAt(event, 'involvedObject', 'namespace');
  const namespace = namespaceOf(event);
  const mismatch = invalidField('involvedObject.namespace', about, 'does not match event.namespace');
  if (textAt(event, 'eventTime') === '') {
    const fits = about === '' ? namespace === 'default' : namespace === about;
    return fits ? [] : [mismatch];
  }
  const fits = about !== '' || ['default', 'kube-system'].includes(namespace);
  const controller = textAt(event, 'reportingComponent');
  const problem = qualifiedNameProblem(controller);
  return [
    ...(fits ? [] : [mismatch]),
    ...(controller === '' ? [requiredField('reportingController')] : []),
    ...(problem === undefined ? [] : [invalidField('reportingController', controller, problem)]),
    ...requiredText(event, 'reportingInstance', 128),
    ...requiredText(event, 'action', 128),
    ...requiredText(event, 'reason', 128),
    ...limitedText(event, 'message', 1024),
  ];
}

export function validateNewEvent(event: KubeObject): readonly StatusCause[] {
  const type = textAt(event, 'type');
  const unset = (field: string, isSet: boolean): readonly StatusCause[] =>
    isSet ? [invalidField(field, '', 'needs to be unset')] : [];
  return [
    ...validateEvent(event),
    ...validateSeries(event),
    ...(textAt(event, 'eventTime') === '' ? [requiredField('eventTime')] : []),
    ...(type === 'Normal' || type === 'Warning'
      ? []
      : [invalidField('type', '', `has invalid value: ${type}`)]),
    ...unset('firstTimestamp', textAt(event, 'firstTimestamp') !== ''),
    ...unset('lastTimestamp', textAt(event, 'lastTimestamp') !== ''),
    ...unset('count', (numberAt(event, 'count') ?? 0) !== 0),
    ...unset('source', textAt(event, 'source', 'component') !== '' || textAt(event, 'source', 'host') !== ''),
  ];
}

/** Only the series may change. */
export function validateEventUpdate(event: KubeObject, previous: KubeObject): readonly StatusCause[] {
  return [
    ...validateEvent(event),
    ...(equalJson(event['series'], previous['series']) ? [] : validateSeries(event)),
    ...fixedFields.flatMap(([field, name = field]) => immutableField(name, event[field], previous[field])),
  ];
}

/** By their names in the core group, and those in messages where they differ. */
const fixedFields: readonly (readonly [field: string, name?: string])[] = [
  ['involvedObject'],
  ['reason'],
  ['message'],
  ['source'],
  ['firstTimestamp'],
  ['lastTimestamp'],
  ['count'],
  ['type'],
  ['eventTime'],
  ['action'],
  ['related'],
  ['reportingComponent', 'reportingController'],
  ['reportingInstance'],
];

function validateSeries({ series }: KubeObject): readonly StatusCause[] {
  if (!isJsonObject(series)) return [];
  return [
    ...((numberAt(series, 'count') ?? 0) < 2
      ? [invalidField('series.count', '', 'should be at least 2')]
      : []),
    ...(textAt(series, 'lastObservedTime') === '' ? [requiredField('series.lastObservedTime')] : []),
  ];
}

function requiredText(event: KubeObject, field: string, limit: number): readonly StatusCause[] {
  return textAt(event, field) === '' ? [requiredField(field)] : limitedText(event, field, limit);
}

function limitedText(event: KubeObject, field: string, limit: number): readonly StatusCause[] {
  if (textAt(event, field).length <= limit) return [];
  return [invalidField(field, '', `can have at most ${limit} characters`)];
}
