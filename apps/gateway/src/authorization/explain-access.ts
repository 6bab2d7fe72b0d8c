/** What the rules say of a question, for the people who write them: `roundhouse auth can-i`, and the admin listener behind it. */

import { interactiveSubresources, noAction, resourceText } from './action.ts';
import type { Action } from './action.ts';
import type { Policy } from './policy.ts';
import type { Subject } from './rule.ts';

export interface AccessQuestion extends Subject {
  readonly cluster: string;
  readonly verb: string;
  /** `pods`, `pods/log`; empty when a path is asked for. */
  readonly resource: string;
  readonly apiGroup: string;
  readonly namespace: string;
  readonly name: string;
  /** Begins with a slash; empty when a resource is asked for. */
  readonly path: string;
}

export interface AccessAnswer {
  readonly allowed: boolean;
  /** The rule that decided; null when none did. */
  readonly rule: string | null;
  readonly reason: string;
  /** What was decided on. */
  readonly action: Action;
}

export interface RuleSummary {
  readonly name: string;
  readonly effect: 'allow' | 'deny';
  readonly clusters: readonly string[];
  readonly verbs: readonly string[];
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly namespaces: readonly string[];
  readonly resourceNames: readonly string[];
  readonly nonResourceURLs: readonly string[];
}

/** @param policy undefined where the gateway has no authorisation file */
export function explainAccess(policy: Policy | undefined, question: AccessQuestion): AccessAnswer {
  const action = actionIn(question);
  if (policy === undefined) {
    const reason = 'the gateway has no authorisation file: each cluster decides by the identity that it sees';
    return { allowed: true, rule: null, reason, action };
  }
  const { allowed, rule } = policy.decide(question, question.cluster, action);
  return { allowed, rule: rule ?? null, reason: reasonOf(policy, question, allowed, rule), action };
}

/** The rules that speak of the subject; of everything that they say nothing of, nothing is allowed. */
export function listAccess(
  policy: Policy | undefined,
  subject: Subject,
  cluster: string | undefined,
): RuleSummary[] {
  return (policy?.rulesFor(subject, cluster) ?? []).map(({ name, effect, fields }) => ({
    name,
    effect,
    clusters: fields.clusters,
    verbs: fields.verbs,
    apiGroups: fields.apiGroups ?? [],
    resources: fields.resources ?? [],
    namespaces: fields.namespaces ?? [],
    resourceNames: fields.resourceNames ?? [],
    nonResourceURLs: fields.nonResourceURLs ?? [],
  }));
}

/** From the query of the admin listener: user, group (repeated), cluster, verb, resource, apiGroup, namespace, name, path. */
export function readAccessQuestion(query: URLSearchParams): AccessQuestion {
  const text = (name: string): string => query.get(name) ?? '';
  return {
    user: text('user'),
    groups: query.getAll('group'),
    cluster: text('cluster'),
    verb: text('verb'),
    resource: text('resource'),
    apiGroup: text('apiGroup'),
    namespace: text('namespace'),
    name: text('name'),
    path: text('path'),
  };
}

function actionIn({ verb, resource: qualified, apiGroup, namespace, name, path }: AccessQuestion): Action {
  if (path !== '') {
    return { ...noAction, verb, path };
  }
  const slash = qualified.indexOf('/');
  const resource = slash === -1 ? qualified : qualified.slice(0, slash);
  const subresource = slash === -1 ? '' : qualified.slice(slash + 1);
  return {
    ...noAction,
    isResource: true,
    verb: interactiveSubresources.has(subresource) && verb !== 'impersonate' ? 'create' : verb,
    group: apiGroup,
    resource,
    subresource,
    namespace: resource === 'namespaces' && namespace === '' ? name : namespace,
    name,
  };
}

function reasonOf(
  policy: Policy,
  question: AccessQuestion,
  allowed: boolean,
  rule: string | undefined,
): string {
  if (rule !== undefined) {
    return allowed ? `rule "${rule}" allows it` : `rule "${rule}" denies it, whatever else allows it`;
  }
  const onCluster = policy.rulesFor(question, question.cluster).length;
  if (onCluster > 0) {
    const what = question.path === '' ? resourceText(actionIn(question)) : question.path;
    return `none of the ${onCluster} rules that speak of the user on cluster "${question.cluster}" allows ${question.verb} on ${what}`;
  }
  return policy.rulesFor(question, undefined).length > 0
    ? `no rule speaks of the user on cluster "${question.cluster}"`
    : 'no rule speaks of the user';
}
