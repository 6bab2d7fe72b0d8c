import { ChildProgram } from '../measure/child-program.ts';
import type { Contestant } from './contestant.ts';

/** `kubectl proxy`: the same job on a person's own machine, in Go. It has no TLS front and writes no access log. */
export function kubectlProxy(kubectl: string, args: readonly string[] = []): Contestant {
  return {
    name: 'kubectl proxy',
    setup: `\`${['kubectl proxy', ...args].join(' ')}\` with its defaults: no access log, no metrics, HTTP/2 to the cluster where that offers it`,
    async start({ rig, upstream, front }) {
      if (front === 'https') throw new Error('kubectl proxy has no TLS front');
      const program = await ChildProgram.start({
        command: kubectl,
        args: ['proxy', '--kubeconfig', rig.kubeconfig, '--context', upstream, '--port', '0', ...args],
      });
      const address = await program.says(/^Starting to serve on (\S+)/m);
      return {
        pid: program.pid,
        url: `http://${address}`,
        [Symbol.asyncDispose]: async () => program[Symbol.asyncDispose](),
      };
    },
  };
}
