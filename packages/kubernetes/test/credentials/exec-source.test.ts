import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { inspect } from 'node:util';
import {
  CertificateAuthority,
  ManualClock,
  execCredential,
  runningInGroup,
  until,
} from '@roundhouse/simulators';
import type { PluginFolder } from '@roundhouse/simulators';
import { ExecSources, KubernetesError } from '../../src/index.ts';
import type { CredentialOutcome, CredentialSource, ExecPlugin, ExecSourcesOptions } from '../../src/index.ts';
import { openPluginFolder, pluginFor } from '../rig/plugin-folder.ts';

interface Rig {
  readonly folder: PluginFolder;
  readonly clock: ManualClock;
  readonly sources: ExecSources;
  readonly outcomes: CredentialOutcome[];
  open(command: string, plugin?: Partial<ExecPlugin>): CredentialSource;
}

async function openRig(t: TestContext, options: Partial<ExecSourcesOptions> = {}): Promise<Rig> {
  const folder = await openPluginFolder(t);
  const clock = new ManualClock();
  const outcomes: CredentialOutcome[] = [];
  const sources = new ExecSources({
    environment: { PATH: `${folder.path}:/usr/bin:/bin`, INHERITED: 'yes' },
    timeoutMs: 30_000,
    showStderr: false,
    maxRunning: 8,
    clock,
    random: () => 0,
    onOutcome: (outcome) => outcomes.push(outcome),
    ...options,
  });
  t.after(() => sources[Symbol.asyncDispose]());
  return {
    folder,
    clock,
    sources,
    outcomes,
    open: (command, plugin) =>
      sources.open(pluginFor(command, plugin), { name: 'alpha', onOutcome: () => undefined }),
  };
}

/** A plugin that prints the file `answer`. */
function answering({ folder }: Rig, answer = execCredential({ token: 't0' })): string {
  folder.write('answer', answer);
  return folder.script('plugin', 'cat "$D/answer"');
}

function inMs({ clock }: Rig, ms: number): string {
  return new Date(clock.now() + ms).toISOString();
}

async function failure(promise: Promise<unknown>): Promise<KubernetesError> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof KubernetesError, String(error));
    return error;
  }
  return assert.fail('it was good');
}

const authorizationOf = async (source: CredentialSource): Promise<string | undefined> =>
  (await source.get()).authorization;

suite('what a plugin gives', () => {
  test('is obtained when it is asked for, not before, and then shown without another run', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(answering(rig));
    assert.equal(source.present(), undefined);
    assert.equal(rig.folder.runs, 0);
    assert.equal(await authorizationOf(source), 'Bearer t0');
    for (let time = 0; time < 10; time += 1) {
      assert.equal(source.present()?.authorization, 'Bearer t0');
      rig.clock.advance(3_600_000);
    }
    assert.equal(rig.folder.runs, 1);
    assert.deepEqual(rig.outcomes, [{ result: 'changed', credential: source.present() }]);
  });

  test('BB-11: a hundred who ask at once cost one run', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(answering(rig));
    const found = await Promise.all(Array.from({ length: 100 }, () => authorizationOf(source)));
    assert.deepEqual([...new Set(found)], ['Bearer t0']);
    assert.equal(rig.folder.runs, 1);
  });

  test('comes of the arguments, the environment and the cluster information of the kubeconfig', async (t) => {
    const rig = await openRig(t);
    rig.folder.write('answer', execCredential({ token: 't0' }));
    const command = rig.folder.script(
      'plugin',
      'printf "%s|" "$@" "$INHERITED" "$OWN" "$KUBERNETES_EXEC_INFO" > "$D/seen"; cat "$D/answer"',
    );
    const plugin = { args: ['a b', '$(id)'], env: [{ name: 'OWN', value: 'x y' }], info: '{"kind":"x"}' };
    await rig.open(command, plugin).get();
    assert.equal(rig.folder.read('seen'), 'a b|$(id)|yes|x y|{"kind":"x"}|');
  });

  test('is looked for on PATH by its name', async (t) => {
    const rig = await openRig(t);
    answering(rig);
    assert.equal(await authorizationOf(rig.open('plugin')), 'Bearer t0');
  });

  test('may be a certificate, which is as good as its key', async (t) => {
    const rig = await openRig(t);
    const authority = await CertificateAuthority.create();
    const { certPem, keyPem } = await authority.issue({ commonName: 'plugin', usage: 'client' });
    const answer = execCredential({ clientCertificateData: certPem, clientKeyData: keyPem });
    const { clientPair, authorization } = await rig.open(answering(rig, answer)).get();
    assert.deepEqual(clientPair, { cert: certPem, key: keyPem });
    assert.equal(authorization, undefined);
  });
});

suite('its end', () => {
  test('a credential in use is obtained anew before it ends, and nobody waits', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(
      answering(rig, execCredential({ token: 't0', expirationTimestamp: inMs(rig, 60_000) })),
    );
    await source.get();
    assert.equal(source.expiresAt?.getTime(), rig.clock.now() + 60_000);
    rig.folder.write('answer', execCredential({ token: 't1', expirationTimestamp: inMs(rig, 120_000) }));
    rig.clock.advance(44_000);
    assert.equal(rig.folder.runs, 1);
    rig.clock.advance(2_000);
    assert.equal(source.present()?.authorization, 'Bearer t0');
    await until(() => source.present()?.authorization === 'Bearer t1', 'the next one');
    assert.equal(rig.folder.runs, 2);
  });

  test('BB-20: a credential that nobody uses is left to end, and obtained when somebody asks', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(
      answering(rig, execCredential({ token: 't0', expirationTimestamp: inMs(rig, 60_000) })),
    );
    await source.get();
    rig.clock.advance(50_000);
    await until(() => rig.folder.runs === 2, 'the run for the one that was used');
    await until(() => rig.outcomes.length === 2, 'its end');
    // Nobody has asked for that one.
    rig.folder.write('answer', execCredential({ token: 't2' }));
    rig.clock.advance(600_000);
    assert.deepEqual([rig.folder.runs, rig.sources.running], [2, 0]);
    assert.equal(source.present(), undefined);
    assert.equal(await authorizationOf(source), 'Bearer t2');
  });

  test('what is over when it comes is used for a moment all the same: clocks differ', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(
      answering(rig, execCredential({ token: 't0', expirationTimestamp: inMs(rig, -60_000) })),
    );
    assert.equal(await authorizationOf(source), 'Bearer t0');
    rig.clock.advance(5_000);
    assert.equal(source.present(), undefined);
  });

  test('equal content with a later end is no change', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(
      answering(rig, execCredential({ token: 't0', expirationTimestamp: inMs(rig, 60_000) })),
    );
    await source.get();
    rig.folder.write('answer', execCredential({ token: 't0', expirationTimestamp: inMs(rig, 600_000) }));
    rig.clock.advance(50_000);
    await until(() => rig.outcomes.length === 2, 'the second run');
    assert.deepEqual(
      rig.outcomes.map(({ result }) => result),
      ['changed', 'unchanged'],
    );
    rig.clock.advance(60_000);
    assert.equal(source.present()?.authorization, 'Bearer t0');
  });
});

suite('a credential that a cluster refuses', () => {
  test('BB-20: is obtained anew once, however many were refused with it', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(answering(rig));
    const refused = await source.get();
    rig.folder.write('answer', execCredential({ token: 't1' }));
    await Promise.all(Array.from({ length: 100 }, () => source.renew(refused)));
    assert.equal(source.present()?.authorization, 'Bearer t1');
    assert.equal(rig.folder.runs, 2);
    // Who comes late with the old one has the new one already.
    rig.clock.advance(3_600_000);
    await source.renew(refused);
    assert.equal(rig.folder.runs, 2);
  });

  test('is not obtained over and over where that changes nothing', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(answering(rig));
    const refused = await source.get();
    for (let second = 0; second < 60; second += 1) {
      await source.renew(refused);
      rig.clock.advance(1_000);
    }
    assert.equal(rig.folder.runs, 1 + 6);
  });

  test('stays what is shown when no other can be obtained', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(answering(rig));
    const refused = await source.get();
    rig.folder.write('answer', 'garbage');
    await source.renew(refused);
    assert.equal(source.present(), refused);
    assert.equal(source.error?.code, 'ERR_RH_EXEC_CREDENTIAL_INVALID');
  });
});

suite('BB-22: a plugin that fails', () => {
  test('is run ten times in the first minute at most, whoever asks, and each is told the reason at once', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(rig.folder.script('plugin', 'echo planted-secret; exit 3'));
    let told = 0;
    for (let step = 0; step < 600; step += 1) {
      const { code, message } = await failure(source.get());
      assert.equal(code, 'ERR_RH_EXEC_PLUGIN_FAILED');
      assert.match(message, /plugin ended with exit code 3$/);
      told += 1;
      rig.clock.advance(100);
    }
    assert.equal(told, 600);
    assert.ok(rig.folder.runs >= 3 && rig.folder.runs <= 10, `${rig.folder.runs} runs`);
    assert.equal(rig.outcomes.length, rig.folder.runs, 'one outcome a run');
    assert.equal(rig.clock.pending, 0);
  });

  test('recovers with the first good run', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(rig.folder.script('plugin', 'cat "$D/answer"'));
    await failure(source.get());
    assert.notEqual(source.error, undefined);
    rig.folder.write('answer', execCredential({ token: 't0' }));
    await failure(source.get());
    rig.clock.advance(1_000);
    assert.equal(await authorizationOf(source), 'Bearer t0');
    assert.equal(source.error, undefined);
  });

  test('leaves what is still good in use', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(
      answering(rig, execCredential({ token: 't0', expirationTimestamp: inMs(rig, 60_000) })),
    );
    await source.get();
    rig.folder.write('answer', '');
    rig.clock.advance(50_000);
    await until(() => source.error !== undefined, 'a failed run');
    assert.equal(source.present()?.authorization, 'Bearer t0');
    rig.clock.advance(10_000);
    const { message } = await failure(source.get());
    assert.match(message, /it is empty/);
  });

  test('and that is not there is told with the hint of its author', async (t) => {
    const rig = await openRig(t);
    for (const [command, mode] of [
      ['/nowhere/plugin', undefined],
      ['no-such-plugin', undefined],
      [rig.folder.write('not-executable', ''), 0o644],
      [rig.folder.path, undefined],
    ] as const) {
      if (mode !== undefined) chmodSync(command, mode);
      const { code, message } = await failure(rig.open(command, { installHint: 'see example.com' }).get());
      assert.equal(code, 'ERR_RH_EXEC_PLUGIN_FAILED');
      assert.match(message, /is not installed where it is looked for; its author says: see example.com$/);
    }
    assert.equal(rig.folder.runs, 0);
  });

  for (const [what, body, words] of [
    ['ends by a signal', 'kill -9 $$', /was ended by SIGKILL$/],
    ['prints too much', 'yes planted-secret', /printed more than 1048576 bytes$/],
    ['prints garbage', 'echo planted-secret', /it is not a mapping$/],
    ['prints nothing', 'true', /it is empty$/],
    ['speaks another version', 'cat "$D/v1beta1"', /answered with client.authentication.k8s.io\/v1beta1$/],
  ] as const) {
    test(`and ${what} says so, and nothing of what it printed`, async (t) => {
      const rig = await openRig(t);
      rig.folder.write('v1beta1', execCredential({ token: 'abc' }, 'client.authentication.k8s.io/v1beta1'));
      const error = await failure(rig.open(rig.folder.script('plugin', body)).get());
      assert.match(error.message, words);
      assert.ok(!inspect(error, { depth: 9 }).includes('planted-secret'));
    });
  }

  test('and cannot be started at all tells nothing of its arguments', async (t) => {
    const rig = await openRig(t);
    // A script whose interpreter is missing, and more environment than the system takes.
    const broken = rig.folder.write('broken', '#!/nowhere/sh\n');
    chmodSync(broken, 0o755);
    for (const plugin of [
      pluginFor(broken, { args: ['planted-secret'] }),
      pluginFor(answering(rig), { env: [{ name: 'A', value: 'planted-secret'.repeat(1_000_000) }] }),
    ]) {
      const error = await failure(rig.open(plugin.command, plugin).get());
      assert.match(error.message, /could not be started \(E[A-Z0-9]+\)$/);
      assert.ok(!inspect(error, { depth: 9 }).includes('planted-secret'));
    }
  });
});

suite('a list of what may be run', () => {
  test('lets through what is found at the same place, by name or by path', async (t) => {
    const rig = await openRig(t);
    const path = answering(rig);
    for (const [command, entry] of [
      [path, path],
      ['plugin', path],
      [path, 'plugin'],
      ['plugin', 'plugin'],
    ] as const) {
      const allowlist = ['aws', entry];
      assert.equal(await authorizationOf(rig.open(command, { allowlist })), 'Bearer t0');
    }
  });

  test('keeps everything else from being run, a program of the same name elsewhere among it', async (t) => {
    const rig = await openRig(t);
    const elsewhere = await openPluginFolder(t);
    answering(rig);
    const impostor = elsewhere.script('plugin', 'true');
    for (const allowlist of [['plugin'], [], ['/nowhere/plugin']]) {
      const { code, message } = await failure(rig.open(impostor, { allowlist }).get());
      assert.equal(code, 'ERR_RH_EXEC_PLUGIN_FORBIDDEN');
      assert.match(message, /is not among those that may be run$/);
    }
    assert.equal(elsewhere.runs, 0);
  });
});

suite('a plugin that does not end', () => {
  test('is ended at its time limit with all that it has started', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(
      rig.folder.script('plugin', 'sleep 600 & sleep 600 & echo "$$" > "$D/group"; wait'),
    );
    const waiting = failure(source.get());
    await until(() => rig.folder.read('group') !== '', 'a plugin that waits');
    const group = Number(rig.folder.read('group'));
    assert.equal(runningInGroup(group).length, 3);
    rig.clock.advance(30_000);
    assert.match((await waiting).message, /did not end within 30 s$/);
    await until(() => runningInGroup(group).length === 0, 'nothing of the group');
  });

  test('and takes no notice of SIGTERM is killed two seconds later, and holds nobody up longer', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(
      rig.folder.script(
        'plugin',
        `trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo "$$" > "$D/group"; wait; wait`,
      ),
    );
    const waiting = failure(source.get());
    await until(() => rig.folder.read('group') !== '', 'a plugin that waits');
    const group = Number(rig.folder.read('group'));
    rig.clock.advance(30_000);
    assert.notEqual(runningInGroup(group).length, 0);
    rig.clock.advance(2_000);
    await until(() => runningInGroup(group).length === 0, 'nothing of the group');
    assert.match((await waiting).message, /did not end within 30 s$/);
  });

  test('but leaves something behind that holds its output is good, and what is left is killed', async (t) => {
    const rig = await openRig(t);
    rig.folder.write('answer', execCredential({ token: 't0' }));
    const source = rig.open(
      rig.folder.script('plugin', 'cat "$D/answer"; echo "$$" > "$D/group"; sleep 600 & exit 0'),
    );
    const waiting = authorizationOf(source);
    await until(() => rig.folder.read('group') !== '', 'a plugin that has printed');
    const group = Number(rig.folder.read('group'));
    // The timers of the run: its limit, who waits for it, and since its end, late output.
    await until(() => rig.clock.pending === 3, 'the end of the plugin itself');
    rig.clock.advance(1_000);
    assert.equal(await waiting, 'Bearer t0');
    await until(() => runningInGroup(group).length === 0, 'nothing of the group');
  });

  test('is not one that has ended and left something behind quietly: that is killed at once', async (t) => {
    const rig = await openRig(t);
    rig.folder.write('answer', execCredential({ token: 't0' }));
    const source = rig.open(
      rig.folder.script('plugin', 'sleep 600 > "$D/log" & echo "$$" > "$D/group"; cat "$D/answer"'),
    );
    assert.equal(await authorizationOf(source), 'Bearer t0');
    const group = Number(rig.folder.read('group'));
    assert.ok(group > 1);
    await until(() => runningInGroup(group).length === 0, 'nothing of the group');
  });

  test('ends with those who use it', async (t) => {
    const rig = await openRig(t);
    const source = rig.open(rig.folder.script('plugin', 'sleep 600 & echo "$$" > "$D/group"; wait'));
    const waiting = failure(source.get());
    await until(() => rig.folder.read('group') !== '', 'a plugin that waits');
    const group = Number(rig.folder.read('group'));
    await source[Symbol.asyncDispose]();
    assert.deepEqual(runningInGroup(group), []);
    assert.match((await waiting).message, /is not wanted any more$/);
    assert.deepEqual([rig.sources.size, rig.sources.running, rig.clock.pending], [0, 0, 0]);
    assert.deepEqual(rig.outcomes, [], 'an end that was wanted is nobody’s failure');
  });
});
