/** The `Accept` header: in which of the forms that we can write does the client want its answer? */
import { aggregatedVersions } from '../aggregated-discovery.ts';
import type { AggregatedVersion } from '../aggregated-discovery.ts';
import { ApiError } from '../api-error.ts';

export type Form = 'object' | 'table' | 'metadata';

const served = ['application/json'] as const;

/** The first alternative that we can write wins, as in the real server; throws NotAcceptable. */
export function negotiate(accept: string): Form {
  if (accept.trim() === '') return 'object';
  for (const alternative of accept.split(',')) {
    const [type = '', ...parameters] = alternative.split(';').map((part) => part.trim());
    if (!['application/json', 'application/*', '*/*', 'text/*'].includes(type)) continue;
    const given = new Map(parameters.map((parameter) => splitParameter(parameter)));
    const form = formOf(given);
    if (form !== undefined) return form;
  }
  throw ApiError.notAcceptable(served);
}

/** The version of aggregated discovery that comes first among those that we can write, even behind plain JSON; undefined: none is asked for. */
export function negotiateDiscovery(accept: string): AggregatedVersion | undefined {
  for (const alternative of accept.split(',')) {
    const [type = '', ...parameters] = alternative.split(';').map((part) => part.trim());
    if (!['application/json', 'application/*', '*/*'].includes(type)) continue;
    const given = new Map(parameters.map((parameter) => splitParameter(parameter)));
    const version = aggregatedVersions.find((known) => known === given.get('v'));
    if (given.get('g') === 'apidiscovery.k8s.io' && given.get('as') === 'APIGroupDiscoveryList' && version)
      return version;
  }
  return undefined;
}

function formOf(parameters: ReadonlyMap<string, string>): Form | undefined {
  const as = parameters.get('as');
  if (as === undefined) return parameters.get('g') === undefined ? 'object' : undefined;
  if (parameters.get('g') !== 'meta.k8s.io' || parameters.get('v') !== 'v1') return undefined;
  if (as === 'Table') return 'table';
  return as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList' ? 'metadata' : undefined;
}

function splitParameter(parameter: string): [name: string, value: string] {
  const at = parameter.indexOf('=');
  return at < 0 ? [parameter, ''] : [parameter.slice(0, at), parameter.slice(at + 1)];
}
