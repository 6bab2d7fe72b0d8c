/**
 * exec, attach, cp and port-forward of real kubectls through the gateway of `npm start`, over WebSockets and over SPDY: every byte,
 * every exit code, and nothing left behind.
 */

import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { NpmStart } from './npm-start.ts';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';
import { KubectlStream, runKubectl } from './run-kubectl.ts';
import type { KubectlResult } from './run-kubectl.ts';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** util-linux; it gives a program a terminal. */
const hasScript = spawnSync('script', ['--version']).status === 0;
const connections = 100;
const copiedBytes = 50 * 1024 * 1024;

for (const minor of kubectlMinors) {
  for (const webSockets of [true, false]) {
    describe(`kubectl ${minor} over ${webSockets ? 'WebSockets' : 'SPDY'}`, () => {
      const resources = new AsyncDisposableStack();
      const environment = {
        KUBECTL_REMOTE_COMMAND_WEBSOCKETS: String(webSockets),
        KUBECTL_PORT_FORWARD_WEBSOCKETS: String(webSockets),
      };
      let kubectl: string;
      let demo: NpmStart;
      let folder: string;
      // One of its own: those of the demo come and go.
      const pod = 'box';

      const run = (args: readonly string[], stdin = ''): Promise<KubectlResult> =>
        runKubectl(kubectl, ['--context', 'alpha', ...args], {
          kubeconfig: demo.kubeconfig,
          environment,
          stdin,
          timeoutMs: 120_000,
        });
      const follow = (args: readonly string[]): Promise<KubectlStream> =>
        KubectlStream.start(kubectl, ['--context', 'alpha', ...args], {
          kubeconfig: demo.kubeconfig,
          environment,
        });
      const sessions = async (): Promise<readonly { readonly protocol: string }[]> => {
        const answer = await fetch(`${demo.adminUrl}/debug/sessions`);
        const { sessions: open } = (await answer.json()) as { sessions: { protocol: string }[] };
        return open;
      };

      before(async () => {
        kubectl = await obtainKubectl(minor);
        ({ path: folder } = resources.use(
          await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-sessions-')),
        ));
        demo = resources.use(await NpmStart.run(path.join(folder, 'demo')));
        for (const args of [
          ['run', pod, '--image=registry.example/box:1'],
          ['wait', '--for=condition=Ready', `pod/${pod}`, '--timeout=20s'],
        ]) {
          const { code, stderr } = await run(args);
          assert.equal(code, 0, stderr);
        }
      });
      after(() => resources.disposeAsync());

      test('exec gives output, reads input to its end, and passes exit codes on', async () => {
        const greeted = await run(['exec', pod, '--', 'echo', 'hi there']);
        assert.deepEqual([greeted.code, greeted.stdout, greeted.stderr], [0, 'hi there\n', '']);
        const failed = await run(['exec', pod, '--', 'sh', '-c', 'exit 7']);
        assert.equal(failed.code, 7);
        assert.equal(failed.stderr, 'command terminated with exit code 7\n');
        const input = 'x'.repeat(1_000_000);
        const digested = await run(['exec', '-i', pod, '--', 'sha256sum'], input);
        assert.equal(digested.stdout.split(' ', 1)[0], sha256(Buffer.from(input)));
        const copied = await run(['exec', '-i', pod, '--', 'cat'], input);
        assert.equal(copied.stdout.length, input.length);
      });

      test(
        'exec -it is a terminal',
        { skip: hasScript ? false : 'there is no script(1) here that could give kubectl a terminal' },
        async () => {
          const command = [kubectl, '--context', 'alpha', 'exec', '-it', pod, '--', 'sh'].join(' ');
          const child = spawn('script', ['-qec', command, '/dev/null'], {
            stdio: ['pipe', 'pipe', 'inherit'],
            env: {
              PATH: process.env['PATH'],
              HOME: folder,
              KUBECONFIG: demo.kubeconfig,
              TERM: 'dumb',
              ...environment,
            },
          });
          let shown = '';
          child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
            shown += chunk;
            // The terminal echoes what is typed, so each line is typed at its prompt.
            const prompts = shown.split('/ # ').length - 1;
            if (prompts === 1 && !shown.includes('echo')) child.stdin.write('echo typed\n');
            if (shown.includes('\ntyped\r\n') && !shown.includes('exit')) child.stdin.write('exit 3\n');
          });
          const limit = setTimeout(() => child.kill('SIGKILL'), 30_000);
          const [code]: unknown[] = await once(child, 'close');
          clearTimeout(limit);
          assert.match(shown, /\ntyped\r\n/);
          assert.equal(code, 3, shown);
        },
      );

      test('attach shows what a container prints, and is listed while it lasts', async () => {
        await using attached = await follow(['attach', pod]);
        await attached.nextLine(/\S/);
        const open = await sessions();
        assert.deepEqual(
          open.map(({ protocol }) => protocol),
          [webSockets ? 'websocket' : 'SPDY/3.1'],
        );
        await attached.kill();
      });

      test('cp takes a file of 50 MB there and back', async () => {
        const original = randomFillSync(Buffer.alloc(copiedBytes));
        await writeFile(path.join(folder, 'there'), original);
        const there = await run(['cp', path.join(folder, 'there'), `${pod}:/root/big`]);
        assert.equal(there.code, 0, there.stderr);
        const digested = await run(['exec', pod, '--', 'sha256sum', '/root/big']);
        assert.equal(digested.stdout.split(' ', 1)[0], sha256(original));
        const back = await run(['cp', `${pod}:/root/big`, path.join(folder, 'back')]);
        assert.equal(back.code, 0, back.stderr);
        assert.equal(sha256(await readFile(path.join(folder, 'back'))), sha256(original));
      });

      test(`port-forward carries ${connections} connections at once`, async () => {
        await using forwarding = await follow(['port-forward', pod, ':8080']);
        const port = Number(
          /127\.0\.0\.1:(\d+)/.exec(await forwarding.nextLine('Forwarding from 127.0.0.1'))?.[1],
        );
        const agent = new Agent({ maxSockets: connections, keepAlive: true });
        const bodies = await Promise.all(
          Array.from({ length: connections }, async () => {
            const request = get({ host: '127.0.0.1', port, agent, path: '/' });
            const [response] = (await once(request, 'response')) as [IncomingMessage];
            return text(response);
          }),
        );
        agent.destroy();
        assert.equal(bodies.length, connections);
        assert.equal(new Set(bodies).size, 1);
        assert.match(bodies[0] ?? '', new RegExp(pod));
        await forwarding.kill();
      });

      test('nothing is left open when they have ended', async () => {
        const limit = Date.now() + 10_000;
        while ((await sessions()).length > 0) {
          assert.ok(Date.now() < limit, 'sessions are still open');
        }
      });
    });
  }
}
