/**
 * Decides by the roles and bindings in the store, as they are at that moment. Nothing but the group `system:masters` is above them
 * (kubernetes/plugin/pkg/auth/authorizer/rbac, and the rule resolver of kubernetes/pkg/registry/rbac/validation).
 */
import { ApiError } from '../api-error.ts';
import type { Caller } from '../authentication.ts';
import { listAt, textAt } from '../json.ts';
import type { Json } from '../json.ts';
import { nameOf, namespaceOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { clusterRoleBindings, roleBindings } from '../resources/role-bindings.ts';
import { clusterRoles, roles } from '../resources/roles.ts';
import type { ObjectStore } from '../store/object-store.ts';
import type { Access, Authorizer, Decision, RuleList } from './authorizer.ts';
import { allows, rulesOf } from './policy-rule.ts';
import type { PolicyRule } from './policy-rule.ts';

export const mastersGroup = 'system:masters';

/** A binding that applies to the caller: the rules that it gives, or why they are not to be found. */
type Grant =
  | { readonly rules: readonly PolicyRule[]; readonly binding: KubeObject; readonly subject: Json }
  | { readonly error: string };

export class RbacAuthorizer implements Authorizer {
  readonly #objects: ObjectStore;

  constructor(objects: ObjectStore) {
    this.#objects = objects;
  }

  decide(access: Access): Decision {
    if (access.caller.groups.includes(mastersGroup)) return { allowed: true, reason: '' };
    const errors: string[] = [];
    for (const grant of this.#grants(access.caller, 'path' in access ? '' : access.namespace)) {
      if ('error' in grant) errors.push(grant.error);
      else if (grant.rules.some((rule) => allows(rule, access)))
        return { allowed: true, reason: `RBAC: allowed by ${describe(grant.binding, grant.subject)}` };
    }
    return { allowed: false, reason: errors.length === 0 ? '' : `RBAC: ${together(errors)}` };
  }

  rulesFor(caller: Caller, namespace: string): RuleList {
    const grants = [...this.#grants(caller, namespace)];
    return {
      rules: grants.flatMap((grant) => ('error' in grant ? [] : grant.rules)),
      error: together(grants.flatMap((grant) => ('error' in grant ? [grant.error] : []))),
    };
  }

  *#grants(caller: Caller, namespace: string): Generator<Grant> {
    for (const binding of this.#objects.collection(clusterRoleBindings).all())
      yield* this.#grantOf(binding, caller);
    if (namespace === '') return;
    for (const binding of this.#objects.collection(roleBindings).all())
      if (namespaceOf(binding) === namespace) yield* this.#grantOf(binding, caller);
  }

  *#grantOf(binding: KubeObject, caller: Caller): Generator<Grant> {
    const namespace = namespaceOf(binding);
    const subject = listAt(binding, 'subjects').find((each) => isMeant(each, caller, namespace));
    if (subject === undefined) return;
    const kind = textAt(binding, 'roleRef', 'kind');
    const name = textAt(binding, 'roleRef', 'name');
    const role =
      kind === 'Role'
        ? this.#objects.find(roles, namespace, name)
        : this.#objects.find(clusterRoles, '', name);
    yield role === undefined
      ? { error: ApiError.notFound({ group: roles.group, resource: kind.toLowerCase() }, name).message }
      : { rules: rulesOf(role), binding, subject };
  }
}

/** Service accounts of a role binding may leave their namespace out: it is the binding's. */
function isMeant(subject: Json, caller: Caller, namespace: string): boolean {
  const name = textAt(subject, 'name');
  switch (textAt(subject, 'kind')) {
    case 'User':
      return caller.username === name;
    case 'Group':
      return caller.groups.includes(name);
    case 'ServiceAccount': {
      const home = textAt(subject, 'namespace') || namespace;
      return home !== '' && caller.username === `system:serviceaccount:${home}:${name}`;
    }
    default:
      return false;
  }
}

function describe(binding: KubeObject, subject: Json): string {
  const namespace = namespaceOf(binding);
  const within = namespace === '' ? '' : `/${namespace}`;
  const kind = textAt(subject, 'kind');
  const home = kind === 'ServiceAccount' ? `/${textAt(subject, 'namespace') || namespace}` : '';
  const role = `${textAt(binding, 'roleRef', 'kind')} ${JSON.stringify(textAt(binding, 'roleRef', 'name'))}`;
  return `${binding.kind} ${JSON.stringify(`${nameOf(binding)}${within}`)} of ${role} to ${kind} ${JSON.stringify(`${textAt(subject, 'name')}${home}`)}`;
}

/** Each once, as Go writes a list of errors. */
function together(errors: readonly string[]): string {
  const distinct = [...new Set(errors)];
  return distinct.length > 1 ? `[${distinct.join(', ')}]` : distinct.join('');
}
