import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { suite, test } from 'node:test';
import { runCaptured } from './captured-terminal.ts';

/** Why a shell's own check of its script cannot run here; false when it can. */
function missing(shell: string): string | false {
  try {
    execFileSync(shell, ['--version'], { stdio: 'ignore' });
    return false;
  } catch {
    return `no ${shell} on this machine`;
  }
}

async function script(shell: string): Promise<string> {
  return (await runCaptured(['completion', shell])).stdout;
}

suite('completion', () => {
  test(
    'bash: completes commands, flags, choices and nothing after a free value',
    { skip: missing('bash') },
    async () => {
      const source = await script('bash');
      const complete = (...words: string[]): string[] =>
        execFileSync(
          'bash',
          [
            '-c',
            `${source}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=$((\${#COMP_WORDS[@]}-1)); _roundhouse; printf '%s\\n' "\${COMPREPLY[@]}"`,
          ],
          { encoding: 'utf8' },
        )
          .split('\n')
          .filter((line) => line !== '');
      assert.deepEqual(complete('roundhouse', 'cl'), ['clusters']);
      assert.deepEqual(complete('roundhouse', 'clusters', '--wa'), ['--watch']);
      assert.deepEqual(complete('roundhouse', 'sessions', 'k'), ['kill']);
      assert.deepEqual(complete('roundhouse', 'clusters', '-o', ''), [
        'table',
        'wide',
        'json',
        'yaml',
        'name',
      ]);
      assert.deepEqual(complete('roundhouse', 'clusters', '--admin', ''), []);
      assert.deepEqual(complete('roundhouse', 'completion', ''), [
        'bash',
        'zsh',
        'fish',
        '--help',
        '--color',
      ]);
      assert.deepEqual(complete('roundhouse', 'help', 'exit'), ['exit-codes']);
      assert.ok(complete('roundhouse', 'gateway', '--').length > 1);
    },
  );

  for (const shell of ['zsh', 'fish']) {
    test(`${shell}: the script parses`, { skip: missing(shell) }, async () => {
      execFileSync(shell, ['-n', '-c', await script(shell)]);
    });
    test(`${shell}: every command and flag is in it`, async () => {
      const source = await script(shell);
      for (const word of ['gateway', 'kubeconfig', 'clusters', 'transports', 'explain', 'version'])
        assert.ok(source.includes(word), word);
      assert.ok(source.includes(shell === 'fish' ? '-l token-file' : '--token-file['));
    });
  }
});
