/** What is measured, and who takes part in it. The numbers are those that the project promises to keep an eye on. */

import type { ContestantName, Front } from './contestant.ts';

interface CaseBase {
  readonly name: string;
  /** For people. */
  readonly title: string;
  readonly front: Front;
  readonly contestants: readonly ContestantName[];
  readonly target?: Target;
}

export interface RequestCase extends CaseBase {
  readonly kind: 'requests';
  readonly path:
    | '/api/v1/namespaces/default/configmaps/small'
    | '/api/v1/namespaces/default/configmaps/large';
  readonly protocol: 'http/1.1' | 'h2';
  readonly connections: number;
  readonly inFlight: number;
}

export interface WatchCase extends CaseBase {
  readonly kind: 'watches';
  readonly streams: number;
}

export type Case = RequestCase | WatchCase;

/** `contestant` should need at most `ratio` times what `to` needs: CPU a request, or memory a stream. */
export interface Target {
  readonly contestant: ContestantName;
  readonly to: ContestantName;
  readonly ratio: number;
}

const small = '/api/v1/namespaces/default/configmaps/small';
const large = '/api/v1/namespaces/default/configmaps/large';

export const cases: readonly Case[] = [
  {
    kind: 'requests',
    name: 'get-1kib',
    title: 'GET of 1 KiB, 32 connections',
    front: 'http',
    path: small,
    protocol: 'http/1.1',
    connections: 32,
    inFlight: 32,
    contestants: [
      'gateway',
      'kubectl proxy',
      'nginx',
      'gateway, h2 upstream',
      'gateway, no log',
      'gateway, no log, no metrics',
    ],
    target: { contestant: 'gateway', to: 'kubectl proxy', ratio: 1 },
  },
  {
    kind: 'requests',
    name: 'get-1mb',
    title: 'GET of 1 MB, 8 connections',
    front: 'http',
    path: large,
    protocol: 'http/1.1',
    connections: 8,
    inFlight: 8,
    contestants: ['gateway', 'kubectl proxy', 'nginx', 'gateway, h2 upstream'],
    target: { contestant: 'gateway', to: 'kubectl proxy', ratio: 2 },
  },
  {
    kind: 'watches',
    name: 'watches',
    title: '1,500 open watches',
    front: 'http',
    streams: 1_500,
    contestants: ['gateway', 'kubectl proxy', 'nginx', 'gateway, http/1.1 upstream'],
    target: { contestant: 'gateway', to: 'kubectl proxy', ratio: 1 },
  },
  {
    kind: 'requests',
    name: 'tls-http1-1kib',
    title: 'GET of 1 KiB, TLS in front, HTTP/1.1, 32 connections',
    front: 'https',
    path: small,
    protocol: 'http/1.1',
    connections: 32,
    inFlight: 32,
    contestants: ['gateway', 'nginx'],
  },
  {
    kind: 'requests',
    name: 'tls-h2-1kib',
    title: 'GET of 1 KiB, TLS in front, HTTP/2, 32 streams on 4 connections',
    front: 'https',
    path: small,
    protocol: 'h2',
    connections: 4,
    inFlight: 32,
    contestants: ['gateway', 'nginx'],
  },
];
