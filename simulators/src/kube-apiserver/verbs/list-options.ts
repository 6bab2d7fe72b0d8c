/** What the query of a list or a watch says: from when, how much, and what comes beside the objects. */
import { ApiError } from '../api-error.ts';
import type { StatusCause } from '../api-error.ts';
import { forbiddenField, unsupportedField } from '../resources/validation.ts';
import { checkOptions } from './invalid-options.ts';

export interface ListOptions {
  /** Undefined: now. Zero: whatever is at hand. */
  readonly resourceVersion: number | undefined;
  /** At that version, or at it or later. */
  readonly match: 'Exact' | 'NotOlderThan' | undefined;
  /** Infinity: all. */
  readonly limit: number;
  /** Empty: from the start. */
  readonly continueToken: string;
}

export interface WatchOptions {
  /** Undefined: from what is there now. */
  readonly resourceVersion: number | undefined;
  readonly timeoutSeconds: number | undefined;
  readonly bookmarks: boolean;
  /** What is there first, as events, with a bookmark that says where it ends. */
  readonly sendInitialEvents: boolean;
}

/** Throws Invalid for options that do not go together, and BadRequest for what is no number. */
export function readListOptions(query: URLSearchParams): ListOptions {
  const match = query.get('resourceVersionMatch') ?? '';
  checkOptions('ListOptions', [
    ...(match === '' ? [] : listMatchCauses(match, query)),
    ...(query.has('sendInitialEvents')
      ? [forbiddenField('sendInitialEvents', 'sendInitialEvents is forbidden for list')]
      : []),
  ]);
  return {
    resourceVersion: readResourceVersion(query),
    match: match === 'Exact' || match === 'NotOlderThan' ? match : undefined,
    limit: readCount(query, 'limit') || Number.POSITIVE_INFINITY,
    continueToken: query.get('continue') ?? '',
  };
}

/** Throws Invalid for options that do not go together, and BadRequest for what is no number. */
export function readWatchOptions(query: URLSearchParams): WatchOptions {
  const match = query.get('resourceVersionMatch') ?? '';
  const initial = query.get('sendInitialEvents');
  checkOptions('ListOptions', [
    ...(initial !== null && match !== 'NotOlderThan'
      ? [
          forbiddenField(
            'resourceVersionMatch',
            'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
          ),
        ]
      : []),
    ...(match === '' ? [] : watchMatchCauses(match, query)),
  ]);
  return {
    resourceVersion: readResourceVersion(query),
    timeoutSeconds: readCount(query, 'timeoutSeconds'),
    bookmarks: query.get('allowWatchBookmarks') === 'true',
    sendInitialEvents: initial === 'true',
  };
}

function listMatchCauses(match: string, query: URLSearchParams): readonly StatusCause[] {
  const version = query.get('resourceVersion') ?? '';
  const forbid = (why: string): StatusCause => forbiddenField('resourceVersionMatch', why);
  return [
    ...(version === ''
      ? [forbid('resourceVersionMatch is forbidden unless resourceVersion is provided')]
      : []),
    ...continueCauses(query),
    ...(match === 'Exact' || match === 'NotOlderThan'
      ? []
      : [unsupportedField('resourceVersionMatch', match, ['Exact', 'NotOlderThan', ''])]),
    ...(match === 'Exact' && version === '0'
      ? [forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"')]
      : []),
  ];
}

function watchMatchCauses(match: string, query: URLSearchParams): readonly StatusCause[] {
  return [
    ...(query.has('sendInitialEvents')
      ? []
      : [
          forbiddenField(
            'resourceVersionMatch',
            'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
          ),
        ]),
    ...(match === 'NotOlderThan' ? [] : [unsupportedField('resourceVersionMatch', match, ['NotOlderThan'])]),
    ...continueCauses(query),
  ];
}

function continueCauses(query: URLSearchParams): readonly StatusCause[] {
  if ((query.get('continue') ?? '') === '') return [];
  return [
    forbiddenField('resourceVersionMatch', 'resourceVersionMatch is forbidden when continue is provided'),
  ];
}

function readResourceVersion(query: URLSearchParams): number | undefined {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return undefined;
  if (!/^\d{1,16}$/.test(text))
    throw ApiError.badRequest(
      `resourceVersion: Invalid value: "${text}": strconv.ParseUint: parsing "${text}": invalid syntax`,
    );
  return Number(text);
}

function readCount(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name) ?? '';
  if (text === '') return undefined;
  if (!/^\d{1,9}$/.test(text)) throw ApiError.badRequest(`${name}: Invalid value: "${text}"`);
  return Number(text);
}
