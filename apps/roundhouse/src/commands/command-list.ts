// The subcommands. Each module is loaded when its command is called, so that `roundhouse --help` loads none of them.

import type { CommandModule } from './command-module.ts';

export interface CommandEntry {
  readonly name: string;
  readonly summary: string;
  readonly group: string;
  readonly load: () => Promise<CommandModule>;
}

const programs = 'Programs:';
const looking = 'Looking at a running gateway:';
const tool = 'This tool:';

export const commandList: readonly CommandEntry[] = [
  {
    name: 'gateway',
    summary: 'serve many clusters through one endpoint',
    group: programs,
    load: async () => (await import('./gateway.ts')).gatewayCommand,
  },
  {
    name: 'kubeconfig',
    summary: 'write a kubeconfig that points at a gateway',
    group: looking,
    load: async () => (await import('./kubeconfig.ts')).kubeconfigCommand,
  },
  {
    name: 'clusters',
    summary: 'list the clusters: state, last error, certificate expiry',
    group: looking,
    load: async () => (await import('./clusters.ts')).clustersCommand,
  },
  {
    name: 'transports',
    summary: 'list the transports: connections by state, streams, requests',
    group: looking,
    load: async () => (await import('./transports.ts')).transportsCommand,
  },
  {
    name: 'sessions',
    summary: 'list the sessions (exec, attach, port-forward, WebSockets), and end them',
    group: looking,
    load: async () => (await import('./sessions.ts')).sessionsCommand,
  },
  {
    name: 'auth',
    summary: 'explain what the authorisation rules allow',
    group: looking,
    load: async () => (await import('./auth.ts')).authCommand,
  },
  {
    name: 'config',
    summary: "show the gateway's configuration and where each value comes from",
    group: tool,
    load: async () => (await import('./config.ts')).configCommand,
  },
  {
    name: 'explain',
    summary: 'say what an error code means and what to do',
    group: tool,
    load: async () => (await import('./explain.ts')).explainCommand,
  },
  {
    name: 'completion',
    summary: 'print a completion script for bash, zsh or fish',
    group: tool,
    load: async () => (await import('./completion.ts')).completionCommand,
  },
  {
    name: 'version',
    summary: 'print the versions of this tool and what it runs on',
    group: tool,
    load: async () => (await import('./version.ts')).versionCommand,
  },
];
