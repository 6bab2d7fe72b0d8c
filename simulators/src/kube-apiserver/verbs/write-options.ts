/** What the query of a create, an update or a patch says beside the body. */
import type { StatusCause } from '../api-error.ts';
import { accessOf } from '../authorization/access-of.ts';
import { requireAccess } from '../authorization/authorizer.ts';
import { escalationGuard } from '../authorization/escalation.ts';
import type { WriteGuard } from '../authorization/escalation.ts';
import { header } from '../exchange.ts';
import { forbiddenField, requiredField, unsupportedField } from '../resources/validation.ts';
import type { WriteOptions as StoreOptions } from '../store/object-store.ts';
import { checkOptions } from './invalid-options.ts';
import type { OptionsKind } from './invalid-options.ts';
import type { ResourceExchange } from './resource-exchange.ts';

/** What becomes of fields that the schema does not have. */
export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

export interface WriteOptions extends StoreOptions {
  /** As the client says, or the name of its program. */
  readonly manager: string;
  readonly fieldValidation: FieldValidation;
  /** Of an apply: whether fields of others are taken over. */
  readonly force: boolean;
}

const validations: readonly FieldValidation[] = ['Ignore', 'Strict', 'Warn'];
const managerLimitBytes = 128;

/** `applies`: whether it is a server-side apply. Throws Invalid. */
export function readWriteOptions(exchange: ResourceExchange, applies = false): WriteOptions {
  const { info, query } = exchange;
  const given = query.get('fieldValidation') || 'Warn';
  const fieldValidation = validations.find((known) => known === given);
  const manager = query.get('fieldManager') ?? '';
  checkOptions(kindOf(exchange), [
    ...forceCauses(query, applies),
    ...managerCauses(manager, applies),
    ...dryRunCauses(query.getAll('dryRun')),
    ...(fieldValidation === undefined
      ? [unsupportedField('fieldValidation', given, ['', ...validations])]
      : []),
  ]);
  return {
    guard: guardOf(exchange),
    scope: info.subresource === 'status' ? 'status' : 'main',
    dryRun: query.has('dryRun'),
    manager: manager || programOf(exchange) || 'unknown',
    subresource: info.subresource,
    fieldValidation: fieldValidation ?? 'Warn',
    force: query.get('force') === 'true',
  };
}

/** An update or an apply that turns out to create needs the right to create, too. */
function guardOf({ caller, cluster, definition, info, query }: ResourceExchange): WriteGuard {
  const escalation = escalationGuard(cluster, definition, caller);
  return (next, previous) => {
    if (previous === undefined && info.verb !== 'create')
      requireAccess(cluster.authorizer, accessOf(caller, { ...info, verb: 'create' }, query));
    escalation?.(next, previous);
  };
}

export function dryRunCauses(values: readonly string[]): readonly StatusCause[] {
  return values.every((value) => value === 'All') ? [] : [unsupportedField('dryRun', values, ['All'])];
}

function kindOf({ info: { verb } }: ResourceExchange): OptionsKind {
  if (verb === 'create') return 'CreateOptions';
  return verb === 'update' ? 'UpdateOptions' : 'PatchOptions';
}

function forceCauses(query: URLSearchParams, applies: boolean): readonly StatusCause[] {
  if (applies || !query.has('force')) return [];
  return [forbiddenField('force', 'may not be specified for non-apply patch')];
}

function managerCauses(manager: string, applies: boolean): readonly StatusCause[] {
  if (applies && manager === '') return [requiredField('fieldManager', 'is required for apply patch')];
  if (Buffer.byteLength(manager) <= managerLimitBytes) return [];
  const message = `Too long: may not be more than ${managerLimitBytes} bytes`;
  return [{ reason: 'FieldValueTooLong', message, field: 'fieldManager' }];
}

function programOf(exchange: ResourceExchange): string {
  return (header(exchange, 'user-agent').split('/')[0] ?? '').slice(0, managerLimitBytes);
}
