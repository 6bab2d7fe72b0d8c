import { readFile } from 'node:fs/promises';
import {
  GivenCredential,
  Informer,
  KubeClient,
  PresentCredential,
  asItCame,
  loadKubeconfig,
} from '@roundhouse/kubernetes';
import { Endpoint, TransportPool } from '@roundhouse/transport';

const [, , kubeconfig = 'kubeconfig', context = 'alpha'] = process.argv;
const access = (await loadKubeconfig(kubeconfig, (path) => readFile(path))).get(context);
if (access === undefined || 'refusal' in access) {
  throw access?.refusal ?? new Error(`there is no context ${context}`);
}

// One pool for the process, one identity for the cluster: requests and watches share its connections.
await using pool = new TransportPool();
const { server: url, serverName, material, insecure, dialer } = access;
const sender = pool.identity(context, Endpoint.from({ url, serverName, material, insecure, dialer }));

const { credential: given } = access;
const shown = given.kind === 'token' ? new PresentCredential({ token: given.token }) : PresentCredential.none;
await using credential = new GivenCredential(shown, () => Promise.resolve());
const client = new KubeClient({ sender, basePath: access.basePath, credential });

const configMaps = {
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
  plural: 'configmaps',
  namespaced: true,
  read: asItCame,
};

// Everything that there is, and every change from then on, whatever becomes of the watch in between.
await using informer = Informer.open(client, configMaps, {
  namespace: 'default',
  onError: (error) => process.stderr.write(`${error.message}\n`),
});
const done = Promise.withResolvers<void>();
using _told = informer.subscribe({
  added: ({ metadata }) => process.stdout.write(`added ${metadata.name}\n`),
  updated: ({ metadata }) => process.stdout.write(`updated ${metadata.name}\n`),
  deleted: ({ metadata }) => {
    process.stdout.write(`deleted ${metadata.name}\n`);
    done.resolve();
  },
});
await informer.synced;

const name = { namespace: 'default', name: 'example' };
await client.create(configMaps, { metadata: name, data: { greeting: 'hello' } });
await client.patch(configMaps, name, { kind: 'merge', body: { data: { greeting: 'good day' } } });
await client.delete(configMaps, name);
await done.promise;
