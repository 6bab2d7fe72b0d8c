/** The gateway as a person starts it, and variants that tell what a choice costs. */

import { join, resolve } from 'node:path';
import { ChildProgram } from '../measure/child-program.ts';
import type { Contestant, ContestantName, RunningProxy, Setting } from './contestant.ts';

const repository = resolve(import.meta.dirname, '../..');
const withoutMetrics = join(import.meta.dirname, 'without-metrics.ts');

/** The default of 1,000 is for a cluster that many share; the case has more from one. */
const maxStreams = 2_000;

interface Variant {
  readonly name: ContestantName;
  readonly setup: string;
  /** The checkout that it runs from; default: this one. */
  readonly checkout?: string;
  readonly nodeArgs?: readonly string[];
  readonly args?: readonly string[];
}

export const gateway = variant({
  name: 'gateway',
  setup: `\`roundhouse gateway\` with its defaults: access log on (into a file), metrics on, short requests to the cluster over HTTP/1.1 and watches over HTTP/2; only \`--max-streams-per-cluster ${maxStreams}\``,
});

export const gatewayOverHttp2 = variant({
  name: 'gateway, h2 upstream',
  setup: 'the same as the first with `--upstream-alpn h2`',
  args: ['--upstream-alpn', 'h2'],
});

export const gatewayOverHttp1 = variant({
  name: 'gateway, http/1.1 upstream',
  setup: 'the same as the first with `--upstream-alpn http/1.1`',
  args: ['--upstream-alpn', 'http/1.1'],
});

export const gatewayWithoutLog = variant({
  name: 'gateway, no log',
  setup: 'the same as the first with `--log-level error`',
  args: ['--log-level', 'error'],
});

export const gatewayBare = variant({
  name: 'gateway, no log, no metrics',
  setup: 'without a log, and with what counts requests replaced by nothing; there is no such option',
  nodeArgs: ['--import', withoutMetrics],
  args: ['--log-level', 'error'],
});

/** The gateway of another checkout, to see in one run what a change does. */
export function gatewayOf(checkout: string): Contestant {
  return variant({ name: 'gateway, baseline', setup: 'as the first, from another checkout', checkout });
}

export function variant({
  name,
  setup,
  checkout = repository,
  nodeArgs = [],
  args = [],
}: Variant): Contestant {
  return {
    name,
    setup,
    async start({ rig, upstream, front }: Setting): Promise<RunningProxy> {
      const tls = front === 'https' ? ['--tls-cert-file', rig.certFile, '--tls-key-file', rig.keyFile] : [];
      const program = await ChildProgram.start({
        command: process.execPath,
        args: [
          ...nodeArgs,
          ...(rig.profileFolder === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', rig.profileFolder]),
          join(checkout, 'apps/roundhouse/bin/roundhouse.js'),
          'gateway',
          '--kubeconfig',
          rig.kubeconfig,
          '--listen',
          '127.0.0.1:0',
          '--admin',
          '127.0.0.1:0',
          '--max-streams-per-cluster',
          String(maxStreams),
          ...tls,
          ...args,
        ],
        stdoutFile: join(rig.folder, 'gateway.access.log'),
      });
      const origin = await program.says(/^Serving \d+ clusters at (\S+),/m);
      return {
        pid: program.pid,
        url: `${origin}/clusters/${upstream}`,
        [Symbol.asyncDispose]: async () => program[Symbol.asyncDispose](),
      };
    },
  };
}
