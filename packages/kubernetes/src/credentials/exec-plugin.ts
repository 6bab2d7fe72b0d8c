/**
 * The exec plugin of a kubeconfig's user, ready to be run: by the rules of kubectl (client-go, plugin/pkg/client/auth/exec and
 * tools/clientcmd), but for what needs a terminal. Who may run what is decided by whoever reads the kubeconfig.
 */

import { resolve } from 'node:path';
import { KubernetesError } from '../errors.ts';
import type { KubeconfigCluster, KubeconfigExec } from '../kubeconfig.ts';
import { execApiVersions } from './exec-credential.ts';
import type { ExecApiVersion } from './exec-credential.ts';

export interface ExecPlugin {
  /** An absolute path, or a name to be looked for on PATH. */
  readonly command: string;
  readonly args: readonly string[];
  /** Beside the environment of the program. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly apiVersion: ExecApiVersion;
  /** The value of KUBERNETES_EXEC_INFO. */
  readonly info: string;
  /** What its author says to those who do not have it. */
  readonly installHint: string | undefined;
  /** Commands of which it must be one; undefined: it may be any. */
  readonly allowlist: readonly string[] | undefined;
}

/**
 * Which plugins may be run, in the words of kubectl's kuberc. A plugin is a program that the author of the kubeconfig chooses: one
 * that comes from elsewhere than a file of this machine's needs `Allowlist`, or somebody who knows what they do.
 */
export type ExecPolicy =
  | { readonly policy: 'AllowAll' }
  | { readonly policy: 'DenyAll' }
  /** Names on PATH or absolute paths; compared by the path at which they are found. */
  | { readonly policy: 'Allowlist'; readonly allowlist: readonly string[] };

export const execPolicies = ['AllowAll', 'DenyAll', 'Allowlist'] as const;

export interface ExecSetting {
  /** The name of the context, for messages. */
  readonly name: string;
  readonly cluster: KubeconfigCluster;
  /** Of the cluster; PEM. */
  readonly ca: Uint8Array | undefined;
  /** What a relative path starts from: the folder of the kubeconfig. */
  readonly folder: string;
  readonly policy: ExecPolicy;
}

/** @throws ERR_RH_CONTEXT_UNUSABLE, ERR_RH_CONTEXT_UNSUPPORTED, ERR_RH_EXEC_PLUGIN_FORBIDDEN */
export function execPluginOf(exec: KubeconfigExec, setting: ExecSetting): ExecPlugin {
  const { name, policy, folder } = setting;
  const unusable = (reason: string): KubernetesError =>
    new KubernetesError('ERR_RH_CONTEXT_UNUSABLE', `context ${name} cannot be used: ${reason}`);
  if (policy.policy === 'DenyAll') {
    throw new KubernetesError(
      'ERR_RH_EXEC_PLUGIN_FORBIDDEN',
      `context ${name} uses a credential plugin, which the policy DenyAll forbids`,
    );
  }
  if (exec.command === undefined) {
    throw unusable('its exec has no command');
  }
  const apiVersion = execApiVersions.find((known) => known === exec.apiVersion);
  if (apiVersion === undefined) {
    throw unusable(`the apiVersion of its exec is none of ${execApiVersions.join(', ')}`);
  }
  refuseTerminal(exec, apiVersion, setting, unusable);
  for (const { name: variable, value } of exec.env) {
    if (variable === '' || /[=\0]/.test(variable) || value.includes('\0')) {
      throw unusable('its exec has a variable that cannot be one of an environment');
    }
  }
  if ([exec.command, ...exec.args].some((text) => text.includes('\0'))) {
    throw unusable('its exec has a zero byte in the command or an argument');
  }
  return {
    command: exec.command.includes('/') ? resolve(folder, exec.command) : exec.command,
    args: exec.args,
    env: exec.env,
    apiVersion,
    info: execInfo(exec, apiVersion, setting),
    installHint: exec.installHint === undefined ? undefined : printable(exec.installHint),
    allowlist: policy.policy === 'Allowlist' ? policy.allowlist : undefined,
  };
}

/** A program that serves others has no terminal to lend. */
function refuseTerminal(
  { interactiveMode }: KubeconfigExec,
  apiVersion: ExecApiVersion,
  { name }: ExecSetting,
  unusable: (reason: string) => KubernetesError,
): void {
  switch (interactiveMode) {
    case 'Never':
    case 'IfAvailable':
      return;
    case 'Always':
      throw new KubernetesError(
        'ERR_RH_CONTEXT_UNSUPPORTED',
        `context ${name} uses a credential plugin that needs a terminal (interactiveMode Always), which is not supported here`,
      );
    case undefined:
      if (apiVersion === 'client.authentication.k8s.io/v1beta1') {
        return;
      }
      throw unusable('its exec has no interactiveMode, which this apiVersion asks for');
    default:
      throw unusable('the interactiveMode of its exec is none of Never, IfAvailable, Always');
  }
}

/** As client-go writes it, `config` included where there is none. */
function execInfo(
  { provideClusterInfo }: KubeconfigExec,
  apiVersion: ExecApiVersion,
  { cluster, ca }: ExecSetting,
): string {
  const info = {
    server: cluster.server,
    'tls-server-name': cluster.tlsServerName,
    'insecure-skip-tls-verify': cluster.insecureSkipTlsVerify || undefined,
    'certificate-authority-data': ca === undefined ? undefined : Buffer.from(ca).toString('base64'),
    'proxy-url': cluster.proxyUrl,
    'disable-compression': cluster.disableCompression || undefined,
    config: cluster.execConfig ?? null,
  };
  return JSON.stringify({
    kind: 'ExecCredential',
    apiVersion,
    spec: { ...(provideClusterInfo && { cluster: info }), interactive: false },
  });
}

/** A terminal that shows it must not take orders from it. */
function printable(text: string): string {
  // oxlint-disable-next-line no-control-regex -- they are what is looked for
  return text.replaceAll(/[\x00-\x1f\x7f-\x9f]+/g, ' ').slice(0, 500);
}
