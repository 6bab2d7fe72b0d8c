/** One rule of a role, and what it allows (kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go). */
import { listAt } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import type { Access, ResourceAccess } from './authorizer.ts';

export interface PolicyRule extends JsonObject {
  readonly verbs: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly resources?: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly nonResourceURLs?: readonly string[];
}

/** Of a stored role. Lists that are empty are left out. */
export function rulesOf(role: Json | undefined): readonly PolicyRule[] {
  return listAt(role, 'rules').map((rule) => {
    const lists = (['apiGroups', 'resources', 'resourceNames', 'nonResourceURLs'] as const)
      .map((field) => [field, textsAt(rule, field)] as const)
      .filter(([, texts]) => texts.length > 0);
    return { verbs: textsAt(rule, 'verbs'), ...Object.fromEntries(lists) };
  });
}

function textsAt(rule: Json, field: string): readonly string[] {
  return listAt(rule, field).filter((text) => typeof text === 'string');
}

export function allows(rule: PolicyRule, access: Access): boolean {
  if (!hasOrAll(rule.verbs, access.verb)) return false;
  if ('path' in access) return (rule.nonResourceURLs ?? []).some((url) => coversPath(url, access.path));
  const { resourceNames = [] } = rule;
  return (
    hasOrAll(rule.apiGroups, access.group) &&
    (rule.resources ?? []).some((resource) => coversResource(resource, access)) &&
    (resourceNames.length === 0 || resourceNames.includes(access.name))
  );
}

/** A resource alone does not include its subresources. */
function coversResource(
  wanted: string,
  { resource, subresource }: Pick<ResourceAccess, 'resource' | 'subresource'>,
): boolean {
  if (wanted === '*') return true;
  return subresource === ''
    ? wanted === resource
    : wanted === `${resource}/${subresource}` || wanted === `*/${subresource}`;
}

/** A star stands for whatever follows, at the end only. */
function coversPath(url: string, path: string): boolean {
  return url === path || (url.endsWith('*') && path.startsWith(url.replace(/\*+$/, '')));
}

function hasOrAll(list: readonly string[] = [], wanted: string): boolean {
  return list.includes('*') || list.includes(wanted);
}

/**
 * What `held` does not include of `wanted`, in rules of one verb, resource and name each
 * (k8s.io/component-helpers/auth/rbac/validation).
 */
export function notCovered(
  held: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): readonly PolicyRule[] {
  return wanted.flatMap(singly).filter((single) => !held.some((rule) => covers(rule, single)));
}

function singly(rule: PolicyRule): readonly PolicyRule[] {
  const { verbs, apiGroups = [], resources = [], resourceNames = [], nonResourceURLs = [] } = rule;
  const named = resourceNames.length === 0 ? [{}] : resourceNames.map((name) => ({ resourceNames: [name] }));
  return [
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.flatMap((verb) =>
          named.map((name) => ({ verbs: [verb], apiGroups: [group], resources: [resource], ...name })),
        ),
      ),
    ),
    ...nonResourceURLs.flatMap((url) => verbs.map((verb) => ({ verbs: [verb], nonResourceURLs: [url] }))),
  ];
}

function covers(rule: PolicyRule, single: PolicyRule): boolean {
  const [verb = ''] = single.verbs;
  if (!hasOrAll(rule.verbs, verb)) return false;
  const [url] = single.nonResourceURLs ?? [];
  if (url !== undefined) return (rule.nonResourceURLs ?? []).some((held) => coversPath(held, url));
  const [[group = ''] = [], [full = ''] = []] = [single.apiGroups, single.resources];
  const [resource = '', subresource = ''] = full.split('/');
  const { resourceNames: names = [] } = rule;
  const [name] = single.resourceNames ?? [];
  return (
    hasOrAll(rule.apiGroups, group) &&
    (rule.resources ?? []).some((held) => coversResource(held, { resource, subresource })) &&
    (names.length === 0 || (name !== undefined && names.includes(name)))
  );
}
