/** Credential plugins for tests. */

import type { TestContext } from 'node:test';
import { PluginFolder } from '@roundhouse/simulators';
import type { ExecPlugin } from '../../src/index.ts';

export async function openPluginFolder(t: TestContext): Promise<PluginFolder> {
  const folder = await PluginFolder.create();
  t.after(() => folder[Symbol.asyncDispose]());
  return folder;
}

export function pluginFor(command: string, rest: Partial<ExecPlugin> = {}): ExecPlugin {
  return {
    command,
    args: [],
    env: [],
    apiVersion: 'client.authentication.k8s.io/v1',
    info: '{}',
    installHint: undefined,
    allowlist: undefined,
    ...rest,
  };
}
