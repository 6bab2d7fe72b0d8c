/** Whether and how the credential plugins of kubeconfig files are run, as those who run the gateway say it. */

import { ExecSources, execPolicies } from '@roundhouse/kubernetes';
import type { ExecPolicy, ExecSourcesOptions } from '@roundhouse/kubernetes';
import type { Logger } from '@roundhouse/process';
import { z } from 'zod';
import type { CredentialCounts } from '../observability/credential-counts.ts';

export const credentialPluginOptionsSchema = z.strictObject({
  policy: z
    .enum(execPolicies)
    .default('AllowAll')
    .describe(
      'which credential plugins (exec) of the kubeconfig files may be run; the words are those of kubectl',
    ),
  allowlist: z
    .array(z.string().min(1))
    .default([])
    .describe('with the policy Allowlist: these, each by its name on PATH or its absolute path'),
  timeoutMs: z
    .int()
    .min(1)
    .max(2_147_483_647)
    .default(30_000)
    .describe('longest run of a credential plugin; then it is ended with all that it has started'),
  maxRunning: z
    .int()
    .min(1)
    .max(1_000)
    .default(8)
    .describe('credential plugins that run at a time; the others wait'),
  showStderr: z
    .boolean()
    .default(false)
    .describe('what credential plugins say on stderr goes to that of the gateway; without it, nowhere'),
});

export type CredentialPluginOptions = z.output<typeof credentialPluginOptionsSchema>;

/** Of kubeconfig files of this machine, which whoever starts the gateway has chosen. */
export function execPolicyOf({ policy, allowlist }: CredentialPluginOptions): ExecPolicy {
  return policy === 'Allowlist' ? { policy, allowlist } : { policy };
}

/** In a line of the log. */
const maxNames = 10;

/** One line in the log for each run. */
export function openExecSources(
  { timeoutMs, maxRunning, showStderr }: CredentialPluginOptions,
  environment: ExecSourcesOptions['environment'],
  counts: CredentialCounts,
  log: Logger,
): ExecSources {
  return new ExecSources({
    environment,
    timeoutMs,
    maxRunning,
    showStderr,
    onOutcome: (outcome, { command, users }) => {
      for (const cluster of users) {
        counts.count(cluster, outcome.result);
      }
      const fields = {
        plugin: command,
        clusters: users.slice(0, maxNames),
        ...(users.length > maxNames && { more: users.length - maxNames }),
      };
      if (outcome.result === 'failed') {
        log.error({ ...fields, reason: outcome.error.message }, 'no credential from the plugin');
      } else {
        const {
          result,
          credential: { expiresAt },
        } = outcome;
        log.info({ ...fields, result, ...(expiresAt && { expiresAt }) }, 'credential from the plugin');
      }
    },
  });
}
