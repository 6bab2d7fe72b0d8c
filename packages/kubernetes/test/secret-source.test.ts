/** A Secret that is followed: what it holds is what is shown to another server, soon after it was changed. */

import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  CertificateAuthority,
  ManualClock,
  RecordingServer,
  ResourceBaseline,
  until,
} from '@roundhouse/simulators';
import { TransportPool } from '@roundhouse/transport';
import { KubeClient, SecretSource } from '../src/index.ts';
import type { SecretKeys } from '../src/index.ts';
import { Cluster, configMaps } from './rig/cluster.ts';

const authority = await CertificateAuthority.create();
const serving = await authority.issue({ commonName: 'far', ipAddresses: ['127.0.0.1'], usage: 'server' });
const first = await authority.issue({ commonName: 'first', usage: 'client' });
const second = await authority.issue({ commonName: 'second', usage: 'client' });
const place = { namespace: 'default', name: 'far' };

type Parts = Readonly<Record<string, string>>;

function put(cluster: Cluster, parts: Parts, type = 'kubernetes.io/tls'): void {
  const data = Object.fromEntries(
    Object.entries(parts).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
  cluster.apiserver.store.put({ apiVersion: 'v1', kind: 'Secret', metadata: place, type, data });
}

const tls = (pair: { readonly certPem: string; readonly keyPem: string }): Parts => ({
  'ca.crt': authority.certificatePem,
  'tls.crt': pair.certPem,
  'tls.key': pair.keyPem,
});

function remove(cluster: Cluster): void {
  cluster.apiserver.store.delete({ apiVersion: 'v1', kind: 'Secret', ...place });
}

suite('certificates', () => {
  /** A Secret's cluster, and a server that is reached with what the Secret holds. */
  class Rig implements AsyncDisposable {
    readonly cluster: Cluster;
    readonly server: RecordingServer;
    readonly source: SecretSource;
    readonly #pool = new TransportPool();
    readonly #client: KubeClient;

    private constructor(cluster: Cluster, server: RecordingServer) {
      this.cluster = cluster;
      this.server = server;
      this.source = SecretSource.open(cluster.client, place);
      const { material } = this.source;
      this.#client = new KubeClient({ sender: this.#pool.identity('far', { url: server.url, material }) });
    }

    static async open(parts: Parts | undefined): Promise<Rig> {
      const cluster = await Cluster.open();
      if (parts !== undefined) put(cluster, parts);
      const server = await RecordingServer.listen({
        tls: { ...serving, clientCaPem: authority.certificatePem },
        handle: (exchange) => exchange.respond({ body: '{}' }),
      });
      const rig = new Rig(cluster, server);
      await rig.source.synced;
      return rig;
    }

    /** Who the server saw, or why nothing was sent. */
    async seen(): Promise<string | undefined> {
      await this.#client.get(configMaps, place);
      return this.server.requests.at(-1)?.connection.tls?.clientCommonName;
    }

    get pairError(): string {
      return String(this.source.material.status.pair?.error);
    }

    async [Symbol.asyncDispose](): Promise<void> {
      await this.#pool.destroy();
      await this.source.close();
      await this.server[Symbol.asyncDispose]();
      await this.cluster[Symbol.asyncDispose]();
    }
  }

  test('what the Secret holds is shown, and another certificate within 2 s of the change', async () => {
    await using _baseline = ResourceBaseline.take();
    await using rig = await Rig.open(tls(first));
    assert.equal(await rig.seen(), 'first');
    const changedAt = performance.now();
    put(rig.cluster, tls(second));
    while ((await rig.seen()) !== 'second') {
      assert.ok(performance.now() - changedAt < 2_000, 'not within 2 s');
    }
    assert.equal(rig.source.material.status.pair?.generation, 2);
    assert.equal(rig.source.material.status.ca?.generation, 1);
    assert.equal(rig.cluster.apiserver.accepted, 1);
  });

  test('a key of another certificate, none, garbage and a Secret that is gone leave the last good in use, and say so', async () => {
    await using rig = await Rig.open(tls(first));
    const broken: readonly (readonly [parts: Parts, reason: RegExp])[] = [
      [{ ...tls(first), 'tls.key': second.keyPem }, /ERR_RH_MATERIAL_INVALID/],
      [{ ...tls(second), 'tls.key': '' }, /ERR_RH_SECRET_UNUSABLE.*default\/far has no tls\.key/],
      [{ ...tls(second), 'tls.crt': 'garbage' }, /ERR_RH_MATERIAL_INVALID/],
    ];
    for (const [parts, reason] of broken) {
      put(rig.cluster, parts);
      await until(() => reason.test(rig.pairError), String(reason));
      assert.equal(await rig.seen(), 'first');
    }
    remove(rig.cluster);
    await until(() => /default\/far is gone/.test(rig.pairError), 'it is gone');
    assert.equal(await rig.seen(), 'first');
    put(rig.cluster, tls(second));
    await until(() => rig.source.material.status.pair?.error === undefined, 'it is back');
    assert.equal(await rig.seen(), 'second');
  });

  test('without the Secret nothing is sent, with that reason, until it is there', async () => {
    await using rig = await Rig.open(undefined);
    await assert.rejects(rig.seen(), /ERR_RH_SECRET_UNUSABLE: there is no Secret default\/far/);
    assert.equal(rig.server.accepted, 0);
    put(rig.cluster, tls(first));
    await until(() => rig.source.material.material !== undefined, 'it is there');
    assert.equal(await rig.seen(), 'first');
  });
});

suite('tokens', () => {
  const keys: SecretKeys = { token: 'token' };
  const tokens = {
    good: { username: 'a', groups: ['system:masters'] },
    better: { username: 'b', groups: ['system:masters'] },
  };

  test('the token of the Secret goes with each request, and another one within 2 s of the change', async () => {
    await using _baseline = ResourceBaseline.take();
    await using cluster = await Cluster.open();
    put(cluster, { token: 'good\n' }, 'Opaque');
    await using source = SecretSource.open(cluster.client, { ...place, keys });
    const { credential } = source;
    await using far = await Cluster.open({
      who: 'nobody',
      authentication: { tokens, anonymous: false },
      access: { credential },
    });
    // Nobody has waited for it: the first request does.
    await far.client.list(configMaps);
    const changedAt = performance.now();
    put(cluster, { token: 'better' }, 'Opaque');
    const shown = (): string | undefined => far.apiserver.requests.at(-1)?.headerValues('authorization')[0];
    while (shown() !== 'Bearer better') {
      await far.client.list(configMaps);
      assert.ok(performance.now() - changedAt < 2_000, 'not within 2 s');
    }
  });

  test('a token that is refused is read anew once for all who were refused, without waiting for the watch', async () => {
    await using cluster = await Cluster.open();
    put(cluster, { token: 'old' }, 'Opaque');
    await using source = SecretSource.open(cluster.client, { ...place, keys });
    const { credential } = source;
    await source.synced;
    // From now on the watch tells nothing.
    cluster.apiserver.faults.add({
      match: ({ path }) => path.includes('watch=true'),
      fault: { kind: 'silence' },
    });
    cluster.apiserver.wire.destroySockets();
    await until(() => cluster.identity.inFlight === 0, 'the watch is gone');
    put(cluster, { token: 'good' }, 'Opaque');
    await using far = await Cluster.open({
      who: 'nobody',
      authentication: { tokens, anonymous: false },
      access: { credential },
    });
    await Promise.all(Array.from({ length: 20 }, () => far.client.list(configMaps)));
    const reads = cluster.apiserver.requests.filter(({ path }) => path.endsWith('/secrets/far'));
    assert.ok(reads.length >= 1 && reads.length <= 2, `${reads.length} reads`);
  });

  test('a read after a refusal that fails is told of and changes nothing, unless it says that the Secret is gone', async () => {
    const clock = new ManualClock();
    await using cluster = await Cluster.open({ access: { clock } });
    put(cluster, { ...tls(first), token: 'good' });
    const errors: Error[] = [];
    await using source = SecretSource.open(cluster.client, {
      ...place,
      keys: { ca: 'ca.crt', cert: 'tls.crt', key: 'tls.key', ...keys },
      onError: (error) => void errors.push(error),
    });
    await source.synced;
    const { credential, material } = source;
    const refused = await credential?.get();
    assert.ok(credential !== undefined && refused !== undefined);
    const before = material.status;
    const isRead = ({ path }: { readonly path: string }): boolean => path.endsWith('/secrets/far');
    const failing = cluster.apiserver.faults.add({ match: isRead, fault: { kind: 'status', code: 500 } });
    await credential.renew(refused);
    assert.deepEqual(material.status, before);
    assert.equal(credential.error, undefined);
    assert.equal(errors.length, 1);
    assert.match(String(errors[0]), /500/);
    failing.remove();

    cluster.apiserver.faults.add({ match: isRead, fault: { kind: 'status', code: 404 } });
    clock.advance(10_000);
    await credential.renew(refused);
    assert.match(String(material.status.pair?.error), /default\/far is gone/);
    assert.match(String(credential.error), /default\/far is gone/);
  });

  test('a token that is refused all the time is read anew once in 10 s', async () => {
    const clock = new ManualClock();
    await using cluster = await Cluster.open({ access: { clock } });
    put(cluster, { token: 'bad' }, 'Opaque');
    await using source = SecretSource.open(cluster.client, { ...place, keys });
    const { credential } = source;
    await using far = await Cluster.open({
      who: 'nobody',
      authentication: { tokens, anonymous: false },
      access: { credential },
    });
    for (const reads of [1, 2]) {
      for (let call = 0; call < 10; call += 1) {
        await assert.rejects(far.client.list(configMaps), /401/);
      }
      const asked = cluster.apiserver.requests.filter(({ path }) => path.endsWith('/secrets/far'));
      assert.equal(asked.length, reads);
      clock.advance(10_000);
    }
  });

  test('without a token nothing is sent, and the error says which Secret and key and nothing of its content', async () => {
    await using cluster = await Cluster.open();
    put(cluster, { other: 'se cret' }, 'Opaque');
    for (const [named, reason] of [
      [{ token: 'token' }, /ERR_RH_SECRET_UNUSABLE: the Secret default\/far has no token/],
      [{ token: 'other' }, /ERR_RH_SECRET_UNUSABLE: the other of the Secret default\/far has characters/],
      [{ token: '__proto__' }, /default\/far has no __proto__/],
    ] as const) {
      await using source = SecretSource.open(cluster.client, { ...place, keys: named });
      const { credential } = source;
      await using far = await Cluster.open({ who: 'nobody', access: { credential } });
      await assert.rejects(far.client.list(configMaps), (error: Error) => {
        assert.match(error.message, reason);
        return !error.message.includes('se cret');
      });
      assert.equal(far.apiserver.received, 0);
    }
  });

  test('a Secret that may not be read is told of as that', async () => {
    await using cluster = await Cluster.open({ who: 'nobody' });
    const errors: Error[] = [];
    const onError = (error: Error): void => void errors.push(error);
    await using source = SecretSource.open(cluster.client, { ...place, keys, onError });
    await until(() => errors.length > 0, 'an error');
    assert.match(
      String(source.credential?.error),
      /ERR_RH_SECRET_UNUSABLE: the Secret default\/far cannot be read/,
    );
    assert.match(String(errors[0]), /403 Forbidden/);
  });
});
