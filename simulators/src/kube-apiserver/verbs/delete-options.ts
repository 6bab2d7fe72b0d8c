/** `DeleteOptions`: the body of a DELETE, or its query when there is no body. A body is all that counts where there is one. */
import { ApiError } from '../api-error.ts';
import { readBody } from '../exchange.ts';
import { at, isJsonObject, listAt, numberAt, objectAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { invalidField, unsupportedField } from '../resources/validation.ts';
import type { Propagation, RemoveOptions } from '../store/deletion.ts';
import { checkOptions } from './invalid-options.ts';
import type { ResourceExchange } from './resource-exchange.ts';
import { dryRunCauses } from './write-options.ts';

export interface DeleteOptions extends RemoveOptions {
  /** `orphanDependents: false`, the older word for a deletion that takes dependents with it. */
  readonly asksForDependents: boolean;
}

const propagations: readonly Propagation[] = ['Foreground', 'Background', 'Orphan'];

/** Throws BadRequest for values of another type, and Invalid for those that are none of the known ones. */
export async function readDeleteOptions(exchange: ResourceExchange): Promise<DeleteOptions> {
  const given = (await readBody(exchange)) ?? fromQuery(exchange.query);
  const orphans = at(given, 'orphanDependents');
  const { uid, resourceVersion } = objectAt(given, 'preconditions');
  checkGiven(given);
  return {
    gracePeriodSeconds: numberAt(given, 'gracePeriodSeconds'),
    propagation: typeof orphans === 'boolean' ? olderWord(orphans) : propagationOf(given),
    preconditions: {
      ...(typeof uid === 'string' ? { uid } : {}),
      ...(typeof resourceVersion === 'string' ? { resourceVersion } : {}),
    },
    dryRun: listAt(given, 'dryRun').length > 0,
    asksForDependents: orphans === false,
  };
}

/** False takes a finalizer for either back, as an explicit word does. */
function olderWord(orphans: boolean): Propagation {
  return orphans ? 'Orphan' : 'Background';
}

function propagationOf(given: Json): Propagation | undefined {
  return propagations.find((known) => known === at(given, 'propagationPolicy'));
}

function checkGiven(given: Json): void {
  if (!isJsonObject(given)) throw ApiError.badRequest('the object provided is unrecognized');
  const { gracePeriodSeconds: grace } = given;
  if (grace !== undefined && grace !== null && typeof grace !== 'number')
    throw ApiError.badRequest(
      'json: cannot unmarshal value into Go struct field DeleteOptions.gracePeriodSeconds of type int64',
    );
  const propagation = at(given, 'propagationPolicy') ?? undefined;
  const twice = propagation !== undefined && typeof given['orphanDependents'] === 'boolean';
  const unknown = propagation !== undefined && propagationOf(given) === undefined;
  const field = 'propagationPolicy';
  checkOptions('DeleteOptions', [
    ...(twice
      ? [invalidField(field, propagation, 'orphanDependents and deletionPropagation cannot be both set')]
      : []),
    ...(unknown ? [unsupportedField(field, propagation, [...propagations, 'nil'])] : []),
    ...dryRunCauses(listAt(given, 'dryRun').map(String)),
  ]);
}

function fromQuery(query: URLSearchParams): JsonObject {
  const grace = query.get('gracePeriodSeconds');
  const orphans = query.get('orphanDependents');
  const uid = query.get('uid');
  const propagation = query.get('propagationPolicy');
  if (grace !== null && !/^-?\d{1,9}$/.test(grace))
    throw ApiError.badRequest(`gracePeriodSeconds: Invalid value: "${grace}"`);
  return {
    ...(grace === null ? {} : { gracePeriodSeconds: Number(grace) }),
    ...(orphans === null ? {} : { orphanDependents: orphans === 'true' || orphans === '1' }),
    ...(propagation === null ? {} : { propagationPolicy: propagation }),
    ...(uid === null ? {} : { preconditions: { uid } }),
    dryRun: query.getAll('dryRun'),
  };
}
