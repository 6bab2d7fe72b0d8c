import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { ResourceBaseline } from '../src/resource-baseline.ts';
import { ManualClock } from '../src/manual-clock.ts';
import type { ByteSource } from '../src/streams/byte-pipe.ts';
import type { Program } from '../src/streams/processes/program.ts';
import { settlesSoon } from './streams-rig.ts';
import { exec, protocols, run, startWithPod } from './streams-server.ts';

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Reads until the text ends with that, and gives all of it. */
async function readTo(source: ByteSource, end: string): Promise<string> {
  let text = '';
  while (!text.endsWith(end)) {
    const chunk = await source.read();
    assert.ok(chunk !== undefined, `it ended with ${JSON.stringify(text)}`);
    text += chunk.toString();
  }
  return text;
}

/** Writes for as long as somebody takes it. */
function endlessWriter(): { readonly program: Program; readonly written: () => number } {
  let bytes = 0;
  const chunk = Buffer.alloc(65_536);
  return {
    written: () => bytes,
    program: async ({ stdout }) => {
      for (;;) {
        await stdout.write(chunk);
        bytes += chunk.length;
      }
    },
  };
}

/** Runs until it is killed, which is told. */
function waiter(): {
  readonly program: Program;
  readonly killed: Promise<void>;
  readonly started: Promise<void>;
} {
  const killed = Promise.withResolvers<void>();
  const started = Promise.withResolvers<void>();
  return {
    killed: killed.promise,
    started: started.promise,
    program: async ({ signal }) => {
      started.resolve();
      signal.addEventListener('abort', () => killed.resolve(), { once: true });
      await killed.promise;
      return 0;
    },
  };
}

for (const via of protocols) {
  describe(via, { timeout: 60_000 }, () => {
    test('a command has its two outputs apart and its exit code as a Status', async () => {
      await using _baseline = ResourceBaseline.take();
      await using server = await startWithPod();
      await using client = await exec(server, via, ['sh', '-c', 'echo out; nosuch; exit 7']);
      const { stdout, stderr, code, status } = await client.collect();
      assert.deepEqual([String(stdout), String(stderr), code], ['out\n', 'sh: nosuch: not found\n', 7]);
      const why =
        via === 'spdy'
          ? 'error executing command [sh -c echo out; nosuch; exit 7], exit code 7'
          : 'command terminated with exit code 7';
      assert.deepEqual(JSON.parse(status), {
        metadata: {},
        status: 'Failure',
        message: `command terminated with non-zero exit code: ${why}`,
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: '7' }] },
      });
      await using fine = await exec(server, via, ['echo', 'hello', 'there']);
      const { status: success, ...rest } = await fine.collect();
      assert.deepEqual([String(rest.stdout), rest.code], ['hello there\n', 0]);
      assert.deepEqual(JSON.parse(success), { metadata: {}, status: 'Success' });
    });

    test('BB-44: the end of the input is no end of the session: digest and late exit code arrive', async () => {
      const clock = new ManualClock();
      await using server = await startWithPod({ clock });
      for (const input of ['', 'x', Buffer.alloc(10_000_000, 'abc')]) {
        const { stdout, code } = await run(server, via, ['sha256sum'], input);
        assert.deepEqual([stdout, code], [`${sha256(Buffer.from(input))}  -\n`, 0]);
      }
      await using late = await exec(server, via, ['linger', '3', '137'], { stdin: true });
      await late.stdin?.write(Buffer.from('x'));
      await late.stdin?.end();
      await late.ping();
      assert.equal(await settlesSoon(late.exit), false);
      clock.advance(2_999);
      assert.equal(await settlesSoon(late.exit), false);
      clock.advance(1);
      assert.equal((await late.exit).code, 137);
    });

    test('a command that is not there is told on the error stream, after the switch', async () => {
      await using server = await startWithPod();
      await using client = await exec(server, via, ['nosuch']);
      const { code, status, stdout } = await client.collect();
      const parsed = JSON.parse(status) as { reason: string; message: string; code: number };
      assert.deepEqual(
        [code, parsed.reason, parsed.code, stdout.length],
        [undefined, 'InternalError', 500, 0],
      );
      assert.match(parsed.message, /exec: "nosuch": executable file not found in \$PATH/);
    });

    test('a process that ends while its output is pending loses none of it', async () => {
      await using server = await startWithPod();
      await using spilt = await exec(server, via, ['spill', '3000000', '5']);
      await using produced = await exec(server, via, ['produce', '3000000']);
      const [all, same] = await Promise.all([spilt.collect(), produced.collect()]);
      assert.deepEqual(
        [all.code, all.stdout.length, sha256(all.stdout)],
        [5, 3_000_000, sha256(same.stdout)],
      );
    });

    test('a reader that is slow holds the process up, and gets everything', async () => {
      const { program, written } = endlessWriter();
      await using server = await startWithPod({ programs: { flood: program } });
      await using client = await exec(server, via, ['flood']);
      await client.stdout.read();
      let before = -1;
      while (before !== written()) {
        before = written();
        for (let turn = 0; turn < 200; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      // What lies in the sockets of this machine is some megabytes.
      assert.ok(before < 16_000_000, `${before} bytes were written to nobody`);
      for (let read = 0; read < 2 * before;) read += (await client.stdout.read())?.length ?? 0;
    });

    for (const [how, leave] of [
      ['FIN', (client) => client.connection.destroy()],
      ['RST', (client) => client.connection.reset()],
      ['a goodbye', (client) => void client.close()],
    ] as const satisfies readonly [string, (client: Awaited<ReturnType<typeof exec>>) => void][]) {
      test(`BB-38: a process is killed when its client has gone, by ${how}`, async () => {
        await using _baseline = ResourceBaseline.take();
        const { program, killed, started } = waiter();
        await using server = await startWithPod({ programs: { wait: program } });
        await using client = await exec(server, via, ['wait']);
        await started;
        leave(client);
        await killed;
        await server.wire.waitForOpen(0);
      });
    }

    test('BB-39: a client that ends its half gets all output that is still to come', async () => {
      const clock = new ManualClock();
      await using server = await startWithPod({ clock });
      await using client = await exec(server, via, ['sh', '-c', 'cat; sleep 3; produce 100000; exit 3'], {
        stdin: true,
      });
      await client.stdin?.write(Buffer.from('first\n'));
      assert.equal(String(await client.stdout.read()), 'first\n');
      client.connection.end();
      const rest = client.collect();
      while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
      assert.equal(await settlesSoon(rest), false);
      clock.advance(3_000);
      const { stdout, code } = await rest;
      assert.deepEqual([stdout.length, code], [100_000, 3]);
      await server.wire.waitForOpen(0);
    });

    test('BB-48: a process ends with its pod', async () => {
      const { program, started } = waiter();
      await using server = await startWithPod({ programs: { wait: program } });
      await using client = await exec(server, via, ['wait']);
      await started;
      server.store.delete({ apiVersion: 'v1', kind: 'Pod', name: 'web' }, { gracePeriodSeconds: 0 });
      assert.equal((await client.exit).code, 137);
      await client.close();
      await server.wire.waitForOpen(0);
    });

    test('a terminal echoes, prompts, takes its size, and knows ctrl-C and ctrl-D', async () => {
      await using server = await startWithPod();
      await using client = await exec(server, via, ['sh'], { stdin: true, tty: true });
      const screen = client.stdout;
      assert.equal(await readTo(screen, '# '), '/ # ');
      await client.resize({ columns: 132, rows: 43 });
      await client.ping();
      await client.stdin?.write(Buffer.from('stty sizx\u007Fe\r'));
      assert.equal(await readTo(screen, '/ # '), 'stty sizx\b \be\r\n43 132\r\n/ # ');
      await client.stdin?.write(Buffer.from('cat\r'));
      await readTo(screen, '\r\n');
      await client.stdin?.write(Buffer.from('again\r'));
      assert.equal(await readTo(screen, 'again\r\nagain\r\n'), 'again\r\nagain\r\n');
      await client.stdin?.write(Buffer.from([3]));
      assert.equal(await readTo(screen, '/ # '), '^C\r\n/ # ');
      await client.stdin?.write(Buffer.from('echo $?\r'));
      assert.equal(await readTo(screen, '/ # '), 'echo $?\r\n130\r\n/ # ');
      await client.stdin?.write(Buffer.from([4]));
      assert.equal((await client.exit).code, 0);
    });

    test('a thousand commands leave nothing behind', { timeout: 60_000 }, async () => {
      await using _baseline = ResourceBaseline.take();
      await using server = await startWithPod();
      for (let round = 0; round < 100; round += 1) {
        const codes = await Promise.all(
          Array.from({ length: 10 }, async (_, number) => run(server, via, ['sh', '-c', `exit ${number}`])),
        );
        assert.deepEqual(
          codes.map(({ code }) => code),
          [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
        );
      }
      await server.wire.waitForOpen(0);
      assert.equal(server.requests.filter(({ outcome }) => outcome === 'pending').length, 0);
    });
  });
}
