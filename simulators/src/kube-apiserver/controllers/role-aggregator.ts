/** Gives a cluster role that collects others the rules of all that it selects (kubernetes/pkg/controller/clusterroleaggregation). */
import { rulesOf } from '../authorization/policy-rule.ts';
import type { ClusterState } from '../cluster-state.ts';
import { at, canonicalText, equalJson, listAt } from '../json.ts';
import { labelsOf, nameOf } from '../kube-object.ts';
import type { KubeObject } from '../kube-object.ts';
import { clusterRoles } from '../resources/roles.ts';
import { labelSelectorOf } from '../selectors/label-selector.ts';
import type { Controller } from './controller.ts';

export class RoleAggregator implements Controller {
  readonly watches = [clusterRoles];
  readonly #cluster: ClusterState;

  constructor(cluster: ClusterState) {
    this.#cluster = cluster;
  }

  /** A role that collects from one that collects is right at the second look, which the first one's write brings about. */
  reconcile(): void {
    const { objects } = this.#cluster;
    const all = objects.collection(clusterRoles).all();
    for (const role of all) {
      if (at(role, 'aggregationRule') === undefined) continue;
      const rules = collectedRules(role, all);
      if (!equalJson(rules, listAt(role, 'rules')))
        objects.change(clusterRoles, '', nameOf(role), (current) => ({ ...current, rules }), {
          manager: 'clusterrole-aggregation-controller',
        });
    }
  }
}

function collectedRules(role: KubeObject, all: readonly KubeObject[]): ReturnType<typeof rulesOf> {
  const selectors = listAt(role, 'aggregationRule', 'clusterRoleSelectors').map(labelSelectorOf);
  const sources = all
    .filter((each) => nameOf(each) !== nameOf(role))
    .filter((each) => selectors.some((selects) => selects(labelsOf(each))))
    .toSorted((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
  const rules = new Map(sources.flatMap(rulesOf).map((rule) => [canonicalText(rule), rule]));
  return [...rules.values()];
}
