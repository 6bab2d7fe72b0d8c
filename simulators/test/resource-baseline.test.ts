import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import tls from 'node:tls';
import { CertificateAuthority, RecordingServer, Relay, ResourceBaseline } from '@roundhouse/simulators';

test('nothing opened is nothing left', async () => {
  const baseline = ResourceBaseline.take();
  assert.deepEqual(baseline.excess(), []);
  await baseline.returned({ timeoutMs: 0 });
});

test('a socket that stays open is named with both its ends and its state', async () => {
  await using server = await RecordingServer.listen();
  const baseline = ResourceBaseline.take();
  const client = net.connect(server.port, '127.0.0.1');
  await once(client, 'connect');
  await server.waitForOpen(1);
  await assert.rejects(baseline.returned({ timeoutMs: 30 }), (error: Error) => {
    // A busy machine may still hold the finished request to connect, too.
    assert.match(error.message, /^Still there after 30 ms:\n(?:1 more ConnectWrap\n)?2 more TCPSocketWrap\n/);
    const line = `TCP 127.0.0.1:${client.localPort} -> 127.0.0.1:${server.port} ESTABLISHED`;
    assert.ok(process.platform !== 'linux' || error.message.includes(line), error.message);
    return true;
  });
  client.destroy();
  await baseline.returned();
});

test('a timer, a listener and an unclosed half of a connection are left-overs, too', async () => {
  const baseline = ResourceBaseline.take();
  const timer = setTimeout(() => {}, 60_000);
  assert.deepEqual(baseline.excess(), ['1 more Timeout']);
  clearTimeout(timer);
  assert.deepEqual(baseline.excess(), []);

  const listener = net.createServer({ allowHalfOpen: true }).listen(0, '::1');
  await once(listener, 'listening');
  const { port } = listener.address() as net.AddressInfo;
  assert.ok(baseline.excess().includes('1 more TCPServerWrap'), baseline.excess().join('\n'));
  const client = net.connect(port, '::1');
  const [accepted] = (await once(listener, 'connection')) as [net.Socket];
  client.end();
  await once(accepted.resume(), 'end');
  if (process.platform === 'linux') {
    const address = '[0000:0000:0000:0000:0000:0000:0000:0001]';
    const line = `TCP ${address}:${port} -> ${address}:${client.localPort} CLOSE_WAIT`;
    assert.ok(baseline.excess().includes(line), baseline.excess().join('\n'));
  }
  accepted.end();
  listener.close();
  await baseline.returned();
});

test('disposing waits for what is on its way out', async () => {
  let ended = false;
  {
    await using _baseline = ResourceBaseline.take();
    setTimeout(() => {
      ended = true;
    }, 50);
  }
  assert.equal(ended, true);
});

test('the peers of this package leave nothing, whatever they were doing', async () => {
  const authority = await CertificateAuthority.create();
  const certificate = await authority.issue({ commonName: 'server', usage: 'server' });
  await using _baseline = ResourceBaseline.take();
  const clients: tls.TLSSocket[] = [];
  {
    await using server = await RecordingServer.listen({ tls: certificate, protocols: ['h2', 'http/1.1'] });
    await using relay = await Relay.listen({ target: server });
    for (const ALPNProtocols of [['h2'], ['http/1.1']]) {
      const client = tls.connect({
        port: relay.port,
        host: '127.0.0.1',
        ca: authority.certificatePem,
        ALPNProtocols,
      });
      client.on('error', () => {});
      clients.push(client);
      await once(client, 'secureConnect');
    }
    relay.throttle(1);
    clients[1]?.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    relay.freeze('down');
  }
  for (const client of clients) client.destroy();
});
