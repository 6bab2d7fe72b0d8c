/**
 * The authorisation file as it is written. Everything that a rule reaches is said: there is no list that means "all" by being
 * left out but that of names, as in RBAC; what cannot match anything is an error, since a rule that denies nothing looks like
 * one that denies.
 */

import { z } from 'zod';

const resourceVerbs = [
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'impersonate',
] as const;

/** The method in lower case, as the kube-apiserver has it off the resources. */
const pathVerbs = ['get', 'head', 'options', 'post', 'put', 'patch', 'delete'] as const;

/** `*` alone means all; a star elsewhere would look like a pattern and be none. */
const exact = z
  .string()
  .min(1)
  .refine(
    (text) => text === '*' || !text.includes('*'),
    'a star stands alone: names are exact, or * for all',
  );
const listOf = <Item extends z.ZodType>(item: Item) => z.array(item).min(1).max(10_000);

const resource = z
  .string()
  .regex(
    /^(?:\*|[a-z0-9][a-z0-9.-]*)(?:\/(?:\*|[A-Za-z0-9_.~:%/-]+))?$/,
    'not a resource: write pods, pods/log, pods/* (its subresources), */scale or *',
  );
const path = z.string().regex(/^(?:\*|\/[^*]*\*?)$/, 'not a path: write /version, /apis/* or *');

const ruleSchema = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z0-9][\w.-]{0,99}$/, 'letters, digits, dots, dashes and underscores, up to 100')
      .describe('names the rule in the audit log and in explanations'),
    effect: z
      .enum(['allow', 'deny'])
      .default('allow')
      .describe('a rule that denies wins over all that allow'),
    users: listOf(exact).optional().describe('of whom the rule speaks: these users'),
    groups: listOf(exact).optional().describe('and the members of these groups'),
    clusters: listOf(exact).describe('names of clusters'),
    verbs: listOf(z.enum(['*', ...new Set([...resourceVerbs, ...pathVerbs])])).describe('what may be done'),
    apiGroups: listOf(exact.or(z.literal('')))
      .optional()
      .describe("'' is the core group"),
    resources: listOf(resource).optional().describe('resources, and subresources as pods/log'),
    namespaces: listOf(exact).optional().describe("'*': all, and what is in none"),
    resourceNames: listOf(exact).optional().describe('names of objects; left out: all'),
    nonResourceURLs: listOf(path)
      .optional()
      .describe('paths that are no resources; a star at the end: all below'),
  })
  .superRefine((rule, context) => {
    const add = (message: string, at?: string): void => {
      context.addIssue({ code: 'custom', path: at === undefined ? [] : [at], message });
    };
    if (rule.users === undefined && rule.groups === undefined) {
      add('it speaks of nobody: give users or groups');
    }
    const onResources = rule.resources !== undefined;
    if (onResources === (rule.nonResourceURLs !== undefined)) {
      add('give either resources or nonResourceURLs');
      return;
    }
    for (const [index, verb] of rule.verbs.entries()) {
      const known: readonly string[] = onResources ? resourceVerbs : pathVerbs;
      if (verb !== '*' && !known.includes(verb)) {
        context.addIssue({
          code: 'custom',
          path: ['verbs', index],
          message: `${verb} is no verb of ${onResources ? 'resources' : 'paths'}; there is ${known.join(', ')}`,
        });
      }
    }
    for (const name of ['apiGroups', 'namespaces'] as const) {
      if (onResources && rule[name] === undefined) {
        add(`say which: ${name === 'apiGroups' ? "[''] is the core group, " : ''}['*'] is all of them`, name);
      }
    }
    for (const name of ['apiGroups', 'namespaces', 'resourceNames'] as const) {
      if (!onResources && rule[name] !== undefined) {
        add('belongs to resources, and the rule has paths', name);
      }
    }
  });

export const authorizationFileSchema = z
  .strictObject({
    version: z.literal(1).describe('of this format'),
    rules: z.array(ruleSchema).max(10_000).describe('what is not allowed by one of them is forbidden'),
  })
  .superRefine(({ rules }, context) => {
    const seen = new Set<string>();
    for (const [index, { name }] of rules.entries()) {
      if (seen.has(name)) {
        context.addIssue({
          code: 'custom',
          path: ['rules', index, 'name'],
          message: 'another rule has this name',
        });
      }
      seen.add(name);
    }
  });

export type RuleFields = z.output<typeof ruleSchema>;
