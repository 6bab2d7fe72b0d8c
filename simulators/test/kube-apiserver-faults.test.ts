import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import http2 from 'node:http2';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { at } from '../src/kube-apiserver/json.ts';
import { CertificateAuthority } from '../src/certificate-authority.ts';
import type { KubeApiserver } from '../src/kube-apiserver/kube-apiserver.ts';
import { call, configMap, configMaps, openLines, startServer, token } from './kube-apiserver-client.ts';

const everything = () => true;

/** What a client gets of one GET: status, the bytes of the body, and how it ended. */
async function get(
  server: KubeApiserver,
  path: string,
): Promise<{ status: number | undefined; body: string; error: string | undefined }> {
  const request = http.get(`${server.url}${path}`, {
    agent: false,
    headers: { authorization: `Bearer ${token}` },
  });
  // Told once for the request and once for the response; the first of them is what counts.
  request.on('error', () => {});
  let status: number | undefined;
  let body = '';
  try {
    const [response] = (await once(request, 'response')) as [http.IncomingMessage];
    status = response.statusCode;
    for await (const chunk of response) body += String(chunk);
    return { status, body, error: undefined };
  } catch (error) {
    return { status, body, error: (error as NodeJS.ErrnoException).code };
  }
}

test('a code is answered instead, as a Status that fits it, to as many requests as were ordered', async () => {
  await using server = await startServer();
  const fault = server.faults.add({
    match: ({ path }) => path.startsWith(configMaps),
    times: 2,
    fault: { kind: 'status', code: 503 },
  });
  assert.equal((await call(server, 'GET', '/version')).status, 200);
  for (let count = 0; count < 2; count += 1) {
    const { status, body, headers } = await call(server, 'GET', configMaps);
    assert.deepEqual(
      [status, at(body, 'reason'), headers.get('retry-after')],
      [503, 'ServiceUnavailable', '1'],
    );
  }
  assert.equal((await call(server, 'GET', configMaps)).status, 200);
  assert.equal(fault.hits, 2);
});

test('a fault can bring its own body and headers, and ends with its rule', async () => {
  await using server = await startServer();
  {
    using _fault = server.faults.add({
      match: everything,
      fault: { kind: 'status', code: 502, body: 'bad gateway', headers: { 'x-from': 'a proxy' } },
    });
    const { status, body, headers } = await call(server, 'GET', '/version');
    assert.deepEqual([status, body, headers.get('x-from')], [502, 'bad gateway', 'a proxy']);
  }
  assert.equal((await call(server, 'GET', '/version')).status, 200);
});

test('a delay holds the right answer back until its promise settles', async () => {
  await using server = await startServer();
  const gate = Promise.withResolvers<void>();
  server.faults.add({ match: everything, times: 1, fault: { kind: 'delay', until: gate.promise } });
  let answered = false;
  const held = call(server, 'GET', '/version').then((answer) => {
    answered = true;
    return answer;
  });
  assert.equal((await call(server, 'GET', '/version')).status, 200);
  assert.equal(answered, false);
  gate.resolve();
  assert.equal((await held).status, 200);
});

test('a reset strikes before the headers, after them, or after as many bytes of the body as were ordered', async () => {
  await using server = await startServer();
  server.store.create(configMap('a', { filling: 'x'.repeat(10_000) }));
  const reset = (when: 'before-headers' | 'after-headers' | 'mid-body', by?: 'rst' | 'fin') =>
    server.faults.add({
      match: everything,
      times: 1,
      fault: { kind: 'reset', when, afterBytes: 500, ...(by === undefined ? {} : { by }) },
    });

  reset('before-headers');
  assert.deepEqual(await get(server, `${configMaps}/a`), {
    status: undefined,
    body: '',
    error: 'ECONNRESET',
  });
  reset('after-headers');
  const afterHeaders = await get(server, `${configMaps}/a`);
  assert.deepEqual(
    [afterHeaders.status, afterHeaders.body.length, afterHeaders.error],
    [200, 0, 'ECONNRESET'],
  );
  for (const by of ['rst', 'fin'] as const) {
    reset('mid-body', by);
    const midBody = await get(server, `${configMaps}/a`);
    assert.deepEqual([midBody.status, midBody.body.length, midBody.error], [200, 500, 'ECONNRESET'], by);
  }
  assert.equal((await get(server, `${configMaps}/a`)).error, undefined);
});

test('silence sends nothing more and keeps the connection open', async () => {
  await using server = await startServer();
  server.faults.add({
    match: ({ path }) => path.includes('watch'),
    times: 1,
    fault: { kind: 'silence', when: 'mid-body', afterBytes: 10 },
  });
  server.store.create(configMap('a'));
  await using stream = await openLines(server, `${configMaps}?watch=true`);
  const next = stream.next();
  assert.equal(
    await Promise.race([next, new Promise((resolve) => setTimeout(resolve, 50, 'nothing'))]),
    'nothing',
  );
  assert.equal(server.open, 1);
  await stream[Symbol.asyncDispose]();
  await next.catch(() => {});
});

test('GOAWAY lets the request be answered, or refuses it as not processed; over HTTP/1.1 it is Connection: close', async () => {
  const authority = await CertificateAuthority.create();
  await using server = await startServer({
    tls: await authority.issue({ commonName: 'server', usage: 'server' }),
  });
  const headers = { ':path': '/version', authorization: `Bearer ${token}` };
  const connect = () => http2.connect(server.url, { ca: authority.certificatePem });

  server.faults.add({ match: everything, times: 1, fault: { kind: 'goaway' } });
  const graceful = connect();
  const goaway = once(graceful, 'goaway');
  const answered = graceful.request(headers);
  assert.match(await text(answered), /gitVersion/);
  assert.equal((await goaway)[0], http2.constants.NGHTTP2_NO_ERROR);

  const refusing = connect();
  await text(refusing.request(headers));
  server.faults.add({ match: everything, times: 1, fault: { kind: 'goaway', refuse: true } });
  const [refusal, refused] = [once(refusing, 'goaway'), refusing.request(headers)];
  await assert.rejects(once(refused, 'response'));
  const [, lastStreamId] = await refusal;
  assert.ok((lastStreamId as number) < (refused.id ?? 0));
  assert.equal(refused.rstCode, http2.constants.NGHTTP2_REFUSED_STREAM);

  await using plain = await startServer();
  plain.faults.add({ match: everything, times: 1, fault: { kind: 'goaway' } });
  assert.equal((await call(plain, 'GET', '/version')).headers.get('connection'), 'close');
});

test('only the stream is reset over HTTP/2 when that is ordered', async () => {
  const authority = await CertificateAuthority.create();
  await using server = await startServer({
    tls: await authority.issue({ commonName: 'server', usage: 'server' }),
  });
  server.faults.add({
    match: everything,
    times: 1,
    fault: { kind: 'reset', when: 'before-headers', by: 'stream' },
  });
  const session = http2.connect(server.url, { ca: authority.certificatePem });
  const headers = { ':path': '/version', authorization: `Bearer ${token}` };
  await assert.rejects(once(session.request(headers), 'response'), { code: 'ERR_HTTP2_STREAM_ERROR' });
  assert.match(await text(session.request(headers)), /gitVersion/);
  session.close();
  assert.equal(server.accepted, 1);
});
