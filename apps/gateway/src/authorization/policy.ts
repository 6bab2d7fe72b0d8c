/** The rules of an authorisation file, and what they say of an action. */

import { parseYaml } from '@roundhouse/process';
import type { Action } from './action.ts';
import { authorizationFileSchema } from './rule-schema.ts';
import { Rule } from './rule.ts';
import type { Subject } from './rule.ts';

export interface Decision {
  readonly allowed: boolean;
  /** The one that decided; undefined when none speaks of it. */
  readonly rule: string | undefined;
}

/** Ten thousand rules of ordinary size. */
export const maxAuthorizationFileBytes = 8 * 1024 * 1024;

export class Policy {
  readonly #denying: readonly Rule[];
  readonly #allowing: readonly Rule[];
  /** In the order of the file. */
  readonly rules: readonly Rule[];

  private constructor(rules: readonly Rule[]) {
    this.rules = rules;
    this.#denying = rules.filter(({ effect }) => effect === 'deny');
    this.#allowing = rules.filter(({ effect }) => effect === 'allow');
  }

  /** @throws YamlProblem with a line for each thing that is wrong */
  static parse(text: string): Policy {
    return new Policy(parseYaml(text, authorizationFileSchema).rules.map((fields) => new Rule(fields)));
  }

  /** What is denied by one rule is denied, whatever allows it; what no rule allows is forbidden. */
  decide(subject: Subject, cluster: string, action: Action): Decision {
    const applies = (rule: Rule): boolean =>
      rule.isAbout(cluster) && rule.speaksOf(subject) && rule.covers(action);
    const denying = this.#denying.find(applies);
    if (denying !== undefined) {
      return { allowed: false, rule: denying.name };
    }
    const allowing = this.#allowing.find(applies);
    return { allowed: allowing !== undefined, rule: allowing?.name };
  }

  /** Those that speak of the subject, on that cluster where one is given. */
  rulesFor(subject: Subject, cluster: string | undefined): readonly Rule[] {
    return this.rules.filter(
      (rule) => rule.speaksOf(subject) && (cluster === undefined || rule.isAbout(cluster)),
    );
  }
}
