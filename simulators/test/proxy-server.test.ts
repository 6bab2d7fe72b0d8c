import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import net from 'node:net';
import { buffer } from 'node:stream/consumers';
import { test } from 'node:test';
import tls from 'node:tls';
import { CertificateAuthority } from '../src/certificate-authority.ts';
import { ProxyServer } from '../src/proxies/proxy-server.ts';
import { RecordingServer } from '../src/recording-server.ts';

const user = { username: 'jane', password: 'a:b' };

/** Node.js's own client of CONNECT. */
async function connectThrough(proxy: ProxyServer, authorization?: string): Promise<[number, Socket]> {
  const asking = request({
    port: proxy.port,
    method: 'CONNECT',
    path: 'cluster.test:80',
    headers: authorization === undefined ? {} : { 'proxy-authorization': authorization },
  });
  asking.end();
  const [response, socket] = await once(asking, 'connect');
  return [response.statusCode, socket];
}

async function getOver(socket: Socket): Promise<string> {
  socket.write('GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n');
  return (await buffer(socket)).toString();
}

test('an HTTP proxy serves its user, refuses others with a challenge, and counts what it carries', async () => {
  await using server = await RecordingServer.listen();
  await using proxy = await ProxyServer.listen({
    protocol: 'http-connect',
    user,
    resolve: () => ({ port: server.port }),
  });
  const [status, socket] = await connectThrough(
    proxy,
    `Basic ${Buffer.from(`${user.username}:${user.password}`).toString('base64')}`,
  );
  assert.equal(status, 200);
  assert.equal(proxy.openTunnels, 1);
  assert.match(await getOver(socket), /\r\n\r\nok$/);
  await proxy.waitForOpen(0);
  const [tunnel] = proxy.tunnels;
  assert.deepEqual(tunnel?.user, user);
  assert.equal(tunnel?.target?.host, 'cluster.test');
  assert.equal(tunnel.bytesUp, 'GET / HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n'.length);
  assert.ok(tunnel.bytesDown > 0);
  const [refused] = await connectThrough(proxy);
  assert.equal(refused, 407);
  assert.equal(proxy.tunnels.length, 1);
  assert.equal(server.accepted, 1);
});

test('a TLS handshake that the client gives up leaves nothing open at the proxy', async () => {
  const authority = await CertificateAuthority.create();
  const certificate = await authority.issue({ commonName: 'p', usage: 'server' });
  await using proxy = await ProxyServer.listen({ protocol: 'http-connect', tls: certificate });
  const client = tls.connect({ port: proxy.port, host: '127.0.0.1', ca: [] });
  await once(client, 'error');
  await proxy.waitForOpen(0);
});

test('a SOCKS5 proxy reads the example of its specification, and speaks in pieces where it is told to', async () => {
  await using server = await RecordingServer.listen();
  await using proxy = await ProxyServer.listen({
    protocol: 'socks5',
    pieceBytes: 1,
    resolve: () => ({ port: server.port }),
  });
  const socket = net.connect(proxy.port, '127.0.0.1');
  // Greeting and request at once, the request for the address 192.0.2.1, port 80.
  socket.write(Buffer.from([5, 1, 0, 5, 1, 0, 1, 192, 0, 2, 1, 0, 80]));
  const answer: Buffer[] = [];
  while (Buffer.concat(answer).length < 12) answer.push(...(await once(socket, 'data')));
  assert.deepEqual(Array.from(Buffer.concat(answer)), [5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  assert.match(await getOver(socket), /\r\n\r\nok$/);
  assert.deepEqual(proxy.tunnels[0]?.target, { host: '192.0.2.1', port: 80 });
});

test('a client that goes while it is not answered is noticed', async () => {
  await using proxy = await ProxyServer.listen({ protocol: 'http-connect', answer: () => undefined });
  const socket = net.connect(proxy.port, '127.0.0.1');
  socket.write('CONNECT a:1 HTTP/1.1\r\n\r\n');
  await proxy.until(() => proxy.connections[0]?.target !== undefined, 'a request');
  socket.end();
  await proxy.waitForOpen(0);
});
