// What is agreed to before a command runs, and what is refused instead.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { describe, test } from 'node:test';
import { at } from '../src/kube-apiserver/json.ts';
import type { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import { ExecClient } from '../src/streams/clients/exec-client.ts';
import { openUpgrade, UpgradeRefused, type UpgradeAsk } from '../src/streams/clients/open-upgrade.ts';
import { call, startServer, token } from './kube-apiserver-client.ts';
import { exec, protocols, run, runningPod, startWithPod, targetOf } from './streams-server.ts';

const execPath = '/api/v1/namespaces/default/pods/web/exec?command=echo&stdout=true';
const key = 'dGhlIHNhbXBsZSBub25jZQ==';

async function refused(server: KubeApiserver, ask: Partial<UpgradeAsk>): Promise<UpgradeRefused> {
  try {
    const { connection } = await openUpgrade(targetOf(server), {
      method: 'POST',
      path: execPath,
      fields: [],
      ...ask,
    });
    connection.destroy();
  } catch (error) {
    if (error instanceof UpgradeRefused) return error;
    throw error;
  }
  throw new Error('it was agreed to');
}

describe('over SPDY the first protocol that is known is chosen of all fields, in their order', () => {
  for (const [offered, chosen] of [
    [['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v3.channel.k8s.io'], 'v4.channel.k8s.io'],
    [['v3.channel.k8s.io', 'v4.channel.k8s.io'], 'v3.channel.k8s.io'],
    [['v2.channel.k8s.io, v4.channel.k8s.io'], 'v2.channel.k8s.io'],
    [['channel.k8s.io'], 'channel.k8s.io'],
  ] as const) {
    test(offered.join(' then '), async () => {
      await using server = await startWithPod();
      await using client = await exec(server, 'spdy', ['echo', 'hi'], { protocols: offered });
      const { stdout, code } = await client.collect();
      assert.deepEqual([client.protocol, String(stdout), code], [chosen, 'hi\n', 0]);
    });
  }

  test('before v4 a failure is told in words', async () => {
    await using server = await startWithPod();
    await using client = await exec(server, 'spdy', ['false'], { protocols: ['v2.channel.k8s.io'] });
    const { code, status } = await client.exit;
    assert.deepEqual(
      [code, status],
      [undefined, 'command terminated with non-zero exit code: error executing command [false], exit code 1'],
    );
  });
});

describe('over WebSocket each channel protocol is spoken', () => {
  for (const protocol of [
    'v5.channel.k8s.io',
    'v4.channel.k8s.io',
    'v4.base64.channel.k8s.io',
    'channel.k8s.io',
    'base64.channel.k8s.io',
  ]) {
    test(protocol, async () => {
      await using server = await startWithPod();
      await using client = await exec(server, 'websocket', ['head', '-c', '5'], {
        stdin: true,
        protocols: ['v9.channel.k8s.io', protocol],
      });
      await client.stdin?.write(Buffer.from([0, 255, 10, 104, 105]));
      const { stdout, code } = await client.collect();
      assert.deepEqual([client.protocol, [...stdout], code], [protocol, [0, 255, 10, 104, 105], 0]);
    });
  }

  test('without a name it is the oldest', async () => {
    await using server = await startWithPod();
    await using client = await exec(server, 'websocket', ['echo', 'hi'], { protocols: [] });
    const { stdout, status } = await client.collect();
    assert.deepEqual([client.protocol, String(stdout), status], ['', 'hi\n', '']);
  });

  test("Node's own WebSocket client is content with it", { timeout: 10_000 }, async () => {
    await using server = await startWithPod();
    const url = `${server.url.replace('http', 'ws')}${execPath.replace('command=echo', 'command=sha256sum&stdin=true')}`;
    const options = { protocols: ['v5.channel.k8s.io'], headers: { authorization: `Bearer ${token}` } };
    const socket = new WebSocket(url, options);
    socket.binaryType = 'arraybuffer';
    const received: Buffer[] = [];
    socket.addEventListener('message', ({ data }) => received.push(Buffer.from(data as ArrayBuffer)));
    await once(socket, 'open');
    socket.send(Buffer.concat([Buffer.from([0]), Buffer.alloc(100_000, 'a')]));
    socket.send(Buffer.from([255, 0]));
    const [closed] = (await once(socket, 'close')) as [CloseEvent];
    assert.deepEqual([socket.protocol, closed.code, closed.wasClean], ['v5.channel.k8s.io', 1000, true]);
    assert.deepEqual(
      received.map((message) => [message[0], message.toString('latin1', 1)]),
      [
        [1, ''],
        [1, '6d1cf22d7cc09b085dfc25ee1a1f3ae0265804c607bc2074ad253bcc82fd81ee  -\n'],
        [3, '{"metadata":{},"status":"Success"}'],
      ],
    );
  });
});

describe('what cannot be agreed to is refused', () => {
  const webSocket = (...more: UpgradeAsk['fields']): Partial<UpgradeAsk> => ({
    method: 'GET',
    fields: [['Connection', 'Upgrade'], ['Upgrade', 'websocket'], ...more],
  });
  const spdy = (...more: UpgradeAsk['fields']): Partial<UpgradeAsk> => ({
    fields: [['Connection', 'Upgrade'], ['Upgrade', 'SPDY/3.1'], ...more],
  });

  test('SPDY without a protocol', async () => {
    await using server = await startWithPod();
    const { status, body } = await refused(server, spdy());
    assert.deepEqual([status, body], [400, 'unable to upgrade: X-Stream-Protocol-Version is required\n']);
  });

  test('SPDY with unknown protocols only', async () => {
    await using server = await startWithPod();
    const asked = spdy(['X-Stream-Protocol-Version', 'v9'], ['X-Stream-Protocol-Version', 'v8']);
    const { status, body, fields } = await refused(server, asked);
    assert.equal(status, 403);
    assert.match(body, /client supports \[v9 v8\], server accepts \[v4\.channel\.k8s\.io v3/);
    assert.match(String(fields.get('x-accepted-stream-protocol-versions')), /^v4\.channel\.k8s\.io, v3/);
  });

  test('a WebSocket of another version, with a key that is none, with unknown protocols only', async () => {
    await using server = await startWithPod();
    const version = await refused(
      server,
      webSocket(['Sec-WebSocket-Version', '8'], ['Sec-WebSocket-Key', key]),
    );
    assert.deepEqual([version.status, version.fields.get('sec-websocket-version')], [400, ['13']]);
    const noKey = await refused(
      server,
      webSocket(['Sec-WebSocket-Version', '13'], ['Sec-WebSocket-Key', 'short']),
    );
    assert.equal(noKey.status, 400);
    const unknown = webSocket(
      ['Sec-WebSocket-Version', '13'],
      ['Sec-WebSocket-Key', key],
      ['Sec-WebSocket-Protocol', 'v9.channel.k8s.io'],
    );
    assert.equal((await refused(server, unknown)).status, 403);
  });

  test('no switch at all, and one to something unknown', async () => {
    await using server = await startWithPod();
    for (const method of ['GET', 'POST'] as const) {
      const { status, body } = await call(server, method, execPath);
      assert.deepEqual(
        [status, at(body, 'message'), at(body, 'reason')],
        [400, 'Upgrade request required', 'BadRequest'],
      );
    }
    const h2c = await refused(server, {
      fields: [
        ['Connection', 'Upgrade'],
        ['Upgrade', 'h2c'],
      ],
    });
    assert.deepEqual(
      [h2c.status, at(JSON.parse(h2c.body) as never, 'message')],
      [400, 'Upgrade request required'],
    );
    assert.equal((await call(server, 'PUT', execPath, { body: {} })).status, 405);
  });
});

for (const via of protocols) {
  describe(`over ${via}, what is asked of a pod that cannot do it is refused`, () => {
    for (const [name, request, status, message] of [
      ['a pod that is not there', { pod: 'nobody' }, 404, 'pods "nobody" not found'],
      [
        'a container that it does not have',
        { container: 'other' },
        400,
        'container other is not valid for pod web',
      ],
      ['a pod without a node', { pod: 'waiting' }, 400, 'pod waiting does not have a host assigned'],
      [
        'one of several containers',
        { pod: 'double' },
        400,
        'a container name must be specified for pod double, choose one of: [one two]',
      ],
    ] as const) {
      test(name, async () => {
        const waiting = runningPod('waiting');
        const { nodeName: _, ...spec } = waiting.spec;
        await using server = await startServer({
          seed: [runningPod('web'), runningPod('double', ['one', 'two']), { ...waiting, spec }],
        });
        await assert.rejects(exec(server, via, ['echo'], request), (error: unknown) => {
          assert.ok(error instanceof UpgradeRefused);
          const body = JSON.parse(error.body) as { kind: string; message: string; code: number };
          assert.deepEqual(
            [error.status, body.kind, body.code, body.message],
            [status, 'Status', status, message],
          );
          return true;
        });
      });
    }

    test('no stream at all', async () => {
      await using server = await startWithPod();
      await assert.rejects(
        exec(server, via, ['echo'], { stdout: false, stderr: false }),
        (error) => error instanceof UpgradeRefused && error.status === 400,
      );
    });
  });
}

test('a container that does not run is refused in text, or told after the switch where the apiserver itself answers it', async () => {
  const stopped = runningPod('web');
  await using server = await startServer({
    seed: [{ ...stopped, status: { ...stopped.status, containerStatuses: [] } }],
  });
  for (const [via, offered] of [
    ['spdy', undefined],
    ['websocket', ['v4.channel.k8s.io']],
  ] as const) {
    await assert.rejects(
      exec(server, via, ['echo'], offered === undefined ? {} : { protocols: offered }),
      (error) =>
        error instanceof UpgradeRefused &&
        error.status === 500 &&
        error.body === 'container not found ("main")\n',
    );
  }
  await using client = await exec(server, 'websocket', ['echo']);
  const { code, status } = await client.exit;
  assert.equal(code, undefined);
  assert.match(
    status,
    /"reason":"InternalError".*unable to upgrade connection: container not found \(\\"main\\"\)/,
  );
});

test('exec is a create whatever its method, and a GET is a get beside', async () => {
  const rule = (name: string, verbs: readonly string[]) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name, namespace: 'default' },
    rules: [{ apiGroups: [''], resources: ['pods/exec'], verbs }],
  });
  const binding = (name: string, role: string) => ({
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name, namespace: 'default' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: role },
    subjects: [{ kind: 'User', name, apiGroup: 'rbac.authorization.k8s.io' }],
  });
  await using server = await startServer({
    authentication: {
      tokens: Object.fromEntries(
        ['reader', 'creator', 'both'].map((username) => [username, { username, groups: [] }]),
      ),
    },
    seed: [
      runningPod('web'),
      rule('get', ['get']),
      rule('create', ['create']),
      rule('both', ['get', 'create']),
      binding('reader', 'get'),
      binding('creator', 'create'),
      binding('both', 'both'),
    ],
  });
  const may = async (user: string, via: 'spdy' | 'websocket'): Promise<number | undefined> => {
    try {
      await using client = await ExecClient.open(
        { url: server.url, headers: { Authorization: `Bearer ${user}` } },
        { via, pod: 'web', command: ['true'] },
      );
      return (await client.collect()).code;
    } catch (error) {
      if (error instanceof UpgradeRefused) return error.status;
      throw error;
    }
  };
  assert.deepEqual(
    await Promise.all(
      (['reader', 'creator', 'both'] as const).flatMap((user) =>
        protocols.map(async (via) => may(user, via)),
      ),
    ),
    [403, 403, 0, 403, 0, 0],
  );
});

test('a connection whose switch was refused goes on as any other, early bytes included', async () => {
  await using server = await startWithPod();
  const socket = net.connect(server.port, '127.0.0.1');
  const authorization = `Authorization: Bearer ${token}\r\n`;
  socket.write(
    `POST /api/v1/namespaces/default/pods/nobody/exec HTTP/1.1\r\nHost: x\r\n${authorization}Connection: Upgrade\r\n` +
      'Upgrade: SPDY/3.1\r\nContent-Length: 0\r\n\r\n' +
      `GET /version HTTP/1.1\r\nHost: x\r\n${authorization}\r\n`,
  );
  let text = '';
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) {
    text += String(chunk);
    if (text.includes('gitVersion')) break;
  }
  assert.match(text, /^HTTP\/1\.1 404 Not Found[^]*pods \\"nobody\\" not found[^]*HTTP\/1\.1 200 OK/);
  assert.deepEqual(
    server.requests.map(({ method, outcome }) => [method, outcome]),
    [
      ['POST', 'answered'],
      ['GET', 'answered'],
    ],
  );
  socket.destroy();
});

test('early bytes of a client that does not wait for the 101 are part of the stream', async () => {
  await using server = await startWithPod();
  const { stdout } = await run(server, 'spdy', ['cat'], 'in order');
  assert.equal(stdout, 'in order');
  const socket = net.connect(server.port, '127.0.0.1');
  socket.write(
    Buffer.concat([
      Buffer.from(
        `GET ${execPath.replace('echo', 'cat')}&stdin=true HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
          `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\n` +
          'Sec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n',
      ),
      // "early" to channel 0, masked with zeros, and the end of channel 0.
      Buffer.from('828600000000006561726c79828200000000ff00', 'hex'),
    ]),
  );
  let text = '';
  for await (const chunk of socket) text += (chunk as Buffer).toString('latin1');
  assert.match(text, /^HTTP\/1\.1 101 /);
  const output = text.indexOf('\u0001early');
  assert.ok(output > 0 && text.indexOf('"Success"') > output, text);
});
