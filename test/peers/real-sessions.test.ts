/**
 * exec, attach, cp, logs and port-forward of real kubectls through the gateway and a real kube-apiserver, which is a proxy itself here,
 * to a kubelet: over WebSockets, of which that apiserver makes SPDY, and over SPDY.
 */

import assert from 'node:assert/strict';
import { createHash, randomFillSync } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { kubectlMinors, obtainKubectl } from './obtain-kubectl.ts';
import { whyNoGoPrograms } from './obtain-go-program.ts';
import { programsOf } from './real-cluster.ts';
import { RealStage, stageOptions } from './real-stage.ts';
import type { Person } from './real-stage.ts';
import { untilTrue } from './until-true.ts';

const skip = await whyNoGoPrograms(programsOf(stageOptions));
const copiedBytes = 20 * 1024 * 1024;
const connections = 20;
const pod = 'box';

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

describe('sessions of kubectl through the gateway and a real kube-apiserver', { skip: skip ?? false }, () => {
  const resources = new AsyncDisposableStack();
  let stage: RealStage;
  before(async () => {
    stage = resources.use(await RealStage.open());
    await stage.kubelet.run(pod);
  });
  after(async () => resources.disposeAsync());

  for (const minor of kubectlMinors) {
    for (const webSockets of [true, false]) {
      describe(`kubectl ${minor} over ${webSockets ? 'WebSockets' : 'SPDY'}`, () => {
        const environment = {
          KUBECTL_REMOTE_COMMAND_WEBSOCKETS: String(webSockets),
          KUBECTL_PORT_FORWARD_WEBSOCKETS: String(webSockets),
        };
        let admin: Person;
        const run = async (args: string, stdin = ''): Promise<string> => admin.run(args, stdin, environment);
        before(async () => {
          admin = stage.person(await obtainKubectl(minor), 'admin');
        });

        test('exec gives output, reads input to its end, and passes exit codes on', async () => {
          assert.equal(await run(`exec ${pod} -- echo choo`), 'choo\n');
          const failed = await admin.try(['exec', pod, '--', 'sh', '-c', 'exit 7'], '', environment);
          assert.equal(failed.code, 7, failed.stderr);
          const input = 'x'.repeat(1_000_000);
          const digested = await run(`exec -i ${pod} -- sha256sum`, input);
          assert.equal(digested.split(' ', 1)[0], sha256(Buffer.from(input)));
        });

        test('cp takes a file there and back', async () => {
          const original = randomFillSync(Buffer.alloc(copiedBytes));
          const [there, back] = ['there', 'back'].map((name) => path.join(stage.folder, name));
          assert.ok(there !== undefined && back !== undefined);
          await writeFile(there, original);
          await run(`cp ${there} ${pod}:/root/big`);
          await run(`cp ${pod}:/root/big ${back}`);
          assert.equal(sha256(await readFile(back)), sha256(original));
        });

        test('attach and logs -f show what a container prints as it prints it', async () => {
          stage.kubelet.appendLog(pod, 'before');
          await using log = await admin.follow(`logs -f ${pod}`, environment);
          await log.nextLine('before');
          await using attached = await admin.follow(`attach ${pod}`, environment);
          const told = async (line: string) => {
            stage.kubelet.appendLog(pod, line);
            await log.nextLine(line);
          };
          await told('now');
          // What was printed before somebody attached is not shown to them.
          const printing = setInterval(() => stage.kubelet.appendLog(pod, 'and again'), 100);
          await attached.nextLine('and again').finally(() => clearInterval(printing));
        });

        test(`port-forward carries ${connections} connections at once`, async () => {
          await using forwarding = await admin.follow(`port-forward ${pod} :8080`, environment);
          const line = await forwarding.nextLine('Forwarding from 127.0.0.1');
          const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
          const bodies = await Promise.all(
            Array.from({ length: connections }, async () => {
              const answer = await fetch(`http://127.0.0.1:${port}/`, { headers: { connection: 'close' } });
              return answer.text();
            }),
          );
          assert.equal(new Set(bodies).size, 1);
          assert.match(bodies[0] ?? '', new RegExp(pod));
          await forwarding.kill();
        });

        test('nothing is left open at the kubelet when they have ended', async () => {
          await untilTrue(async () => stage.kubelet.open === 0, 'all have ended');
        });
      });
    }
  }
});
