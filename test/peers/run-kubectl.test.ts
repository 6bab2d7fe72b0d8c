import assert from 'node:assert/strict';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { KubectlStream, runKubectl } from './run-kubectl.ts';

// The rules are about the runner, so a shell script stands in for kubectl and does what is needed.
const folder = await mkdtempDisposable(path.join(tmpdir(), 'roundhouse-run-test-'));
after(() => folder.remove());
const kubeconfig = path.join(folder.path, 'kubeconfig');

async function script(body: string): Promise<string> {
  const file = path.join(folder.path, `script-${Math.random().toString(36).slice(2)}`);
  await writeFile(file, `#!/bin/sh\n${body}\n`, { mode: 0o755 });
  return file;
}

test('output, exit code and the kubeconfig go through', async () => {
  const kubectl = await script(
    'cat; echo "$1 $KUBECONFIG $HOME $EXTRA ${SECRET:-none}"; echo oops >&2; exit 3',
  );
  process.env['SECRET'] = 'of the caller';
  const result = await runKubectl(kubectl, ['get'], {
    kubeconfig,
    stdin: 'fed\n',
    environment: { EXTRA: 'more' },
  });
  assert.deepEqual(result, {
    code: 3,
    signal: null,
    stdout: `fed\nget ${kubeconfig} ${folder.path} more none\n`,
    stderr: 'oops\n',
  });
});

test('a program that does not end is killed at the limit, and the error shows what it had said', async () => {
  const kubectl = await script('echo before; echo trouble >&2; exec sleep 60');
  await assert.rejects(
    runKubectl(kubectl, ['wait', 'forever'], { kubeconfig, timeoutMs: 1000 }),
    (error: Error) =>
      /kubectl wait forever did not end within 1000 ms\nstdout:\nbefore\n\nstderr:\ntrouble/.test(
        error.message,
      ),
  );
});

test('a program that does not exist is an error, also as a stream', async () => {
  await assert.rejects(runKubectl('/nonexistent/kubectl', [], { kubeconfig }), { code: 'ENOENT' });
  await assert.rejects(KubectlStream.start('/nonexistent/kubectl', [], { kubeconfig }), { code: 'ENOENT' });
});

test('a stream gives its lines in order, by match and by iteration', async () => {
  const kubectl = await script('echo one; echo two; echo three; echo four; printf five');
  await using stream = await KubectlStream.start(kubectl, [], { kubeconfig });
  assert.equal(await stream.nextLine('two'), 'two');
  assert.equal(await stream.nextLine(/^th/), 'three');
  const rest: string[] = [];
  for await (const line of stream) rest.push(line);
  assert.deepEqual(rest, ['four', 'five']);
  assert.deepEqual(await stream.exited, { code: 0, signal: null });
});

test('a line that does not come in time is an error that shows the lines that came', async () => {
  const kubectl = await script('echo trouble >&2; echo one; exec sleep 60');
  await using stream = await KubectlStream.start(kubectl, ['get', '-w'], { kubeconfig });
  await stream.nextLine('one');
  await assert.rejects(stream.nextLine('two', { timeoutMs: 200 }), (error: Error) =>
    /get -w gave no line with two\nstdout:\none\nstderr:\ntrouble/.test(error.message),
  );
});

test('a line that cannot come any more is an error at once', async () => {
  const kubectl = await script('echo one');
  await using stream = await KubectlStream.start(kubectl, [], { kubeconfig });
  await assert.rejects(stream.nextLine('two', { timeoutMs: 60_000 }), /gave no line with two/);
});

test('kill is ctrl-C by default and says how the process ended', async () => {
  const kubectl = await script("trap 'exit 42' INT; echo ready; while :; do sleep 0.05; done");
  await using stream = await KubectlStream.start(kubectl, [], { kubeconfig });
  await stream.nextLine('ready');
  assert.deepEqual(await stream.kill(), { code: 42, signal: null });
});
