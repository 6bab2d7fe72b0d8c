/** One rule, ready to be asked. */

import type { Action } from './action.ts';
import type { RuleFields } from './rule-schema.ts';

/** Of whom a decision speaks. */
export interface Subject {
  readonly user: string;
  readonly groups: readonly string[];
}

type Matcher = (text: string) => boolean;

export class Rule {
  readonly name: string;
  readonly effect: 'allow' | 'deny';
  readonly fields: RuleFields;
  readonly #users: Matcher;
  readonly #groups: Matcher;
  readonly #clusters: Matcher;
  readonly #verbs: Matcher;
  readonly #apiGroups: Matcher;
  readonly #namespaces: Matcher;
  readonly #names: Matcher;
  readonly #resources: ReadonlySet<string>;
  readonly #paths: Matcher;

  constructor(fields: RuleFields) {
    this.name = fields.name;
    this.effect = fields.effect;
    this.fields = fields;
    this.#users = oneOf(fields.users ?? []);
    this.#groups = oneOf(fields.groups ?? []);
    this.#clusters = oneOf(fields.clusters);
    this.#verbs = oneOf(fields.verbs);
    this.#apiGroups = oneOf(fields.apiGroups ?? []);
    this.#namespaces = oneOf(fields.namespaces ?? []);
    this.#names = oneOf(fields.resourceNames ?? ['*']);
    this.#resources = new Set(fields.resources);
    this.#paths = onePath(fields.nonResourceURLs ?? []);
  }

  speaksOf({ user, groups }: Subject): boolean {
    return this.#users(user) || groups.some(this.#groups) || this.#everybody;
  }

  isAbout(cluster: string): boolean {
    return this.#clusters(cluster);
  }

  /**
   * Whether it covers the action: for a rule that allows, all of it; for one that denies, any part of it. A list over all
   * namespaces is not allowed by a rule for one of them, and is denied by a rule that denies one of them. A request that names
   * no object may reach any.
   */
  covers(action: Action): boolean {
    if (!this.#verbs(action.verb)) {
      return false;
    }
    if (!action.isResource) {
      return this.#paths(action.path);
    }
    if (!this.#apiGroups(action.group) || !this.#hasResource(action)) {
      return false;
    }
    const partly = this.effect === 'deny';
    const acrossNamespaces = action.namespace === '' && action.name === '';
    return (
      (this.#namespaces(action.namespace) || (partly && acrossNamespaces)) &&
      (this.#names(action.name) || (partly && action.name === ''))
    );
  }

  /** A star among the groups is everybody, also who is in none. */
  get #everybody(): boolean {
    return this.#groups('');
  }

  #hasResource({ resource, subresource }: Action): boolean {
    const has = this.#resources;
    if (has.has('*')) {
      return true;
    }
    return subresource === ''
      ? has.has(resource)
      : has.has(`${resource}/${subresource}`) || has.has(`${resource}/*`) || has.has(`*/${subresource}`);
  }
}

function oneOf(names: readonly string[]): Matcher {
  const set = new Set(names);
  return set.has('*') ? () => true : (text) => set.has(text);
}

/** As in RBAC: whole paths, or what is in front of a star at the end. */
function onePath(patterns: readonly string[]): Matcher {
  const whole = new Set(patterns.filter((pattern) => !pattern.endsWith('*')));
  const beginnings = patterns
    .filter((pattern) => pattern.endsWith('*'))
    .map((pattern) => pattern.slice(0, -1));
  return (path) => whole.has(path) || beginnings.some((beginning) => path.startsWith(beginning));
}
