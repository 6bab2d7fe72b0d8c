import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionGone, ProtocolViolation } from '../src/streams/byte-connection.ts';
import { readAll } from '../src/streams/byte-pipe.ts';
import { encodeFrame } from '../src/streams/spdy/frames.ts';
import { SpdySession, type SpdySessionOptions } from '../src/streams/spdy/session.ts';
import { StreamReset, type SpdyStream } from '../src/streams/spdy/stream.ts';
import { connectionPair, settlesSoon } from './streams-rig.ts';

const some = new Map([['streamtype', 'data']]);

/** A client and a server; `opened` gets what the client opens. */
function sessions(options: Omit<SpdySessionOptions, 'role'> = {}, limitBytes?: number) {
  const [near, far] = connectionPair(limitBytes);
  const client = new SpdySession(near, { role: 'client' });
  const server = new SpdySession(far, { role: 'server', accept: () => true, ...options });
  const [clientRun, serverRun] = [client.run(), server.run()];
  clientRun.catch(() => {});
  serverRun.catch(() => {});
  return { near, far, client, server, clientRun, serverRun };
}

test('a stream carries bytes both ways, and each direction ends by itself', async () => {
  const opened = Promise.withResolvers<SpdyStream>();
  const { client, server } = sessions({ opened: opened.resolve });
  const ours = await client.open(some);
  const theirs = await opened.promise;
  assert.deepEqual([theirs.id, theirs.fields], [1, some]);
  await ours.write(Buffer.alloc(100_000, 'a'));
  await ours.end();
  assert.deepEqual(await readAll(theirs), Buffer.alloc(100_000, 'a'));
  assert.deepEqual([client.streams, server.streams], [1, 1]);
  await theirs.write(Buffer.from('answer'));
  await theirs.end();
  assert.equal(String(await readAll(ours)), 'answer');
  await Promise.all([ours.closed, theirs.closed]);
  assert.deepEqual([client.streams, server.streams], [0, 0]);
});

test('BB-46: a thousand short streams leave none in the table, whoever gives them up', async () => {
  const { client, server } = sessions({
    opened: (stream) => {
      if (stream.id % 3 === 0) void stream.reset();
      else void stream.end();
    },
  });
  for (let count = 0; count < 1000; count += 1) {
    const stream = await client.open(some);
    await stream.reset();
    await stream.closed;
  }
  await client.ping();
  assert.deepEqual([client.streams, server.streams], [0, 0]);
});

test('a stream that is not taken is refused, and the session goes on', async () => {
  const { client } = sessions({ accept: (fields) => fields.get('streamtype') === 'data' });
  await assert.rejects(client.open(new Map([['streamtype', 'other']])), (error: unknown) => {
    assert.ok(error instanceof StreamReset);
    return error.status === 3;
  });
  assert.equal((await client.open(some)).id, 3);
});

test('a reset tells both sides what it was, and ends nothing else', async () => {
  const streams: SpdyStream[] = [];
  const { client } = sessions({ opened: (stream) => streams.push(stream) });
  const [first, second] = [await client.open(some), await client.open(some)];
  const read = first.read();
  await streams[0]!.reset(6);
  await assert.rejects(read, (error) => error instanceof StreamReset && error.status === 6);
  await assert.rejects(first.write(Buffer.from('x')), StreamReset);
  await second.write(Buffer.from('still here'));
  assert.equal(String(await streams[1]!.read()), 'still here');
});

test('what was sent before a stream ended is read, also when a reset follows', async () => {
  const opened = Promise.withResolvers<SpdyStream>();
  const { client } = sessions({ opened: opened.resolve });
  const ours = await client.open(some);
  const theirs = await opened.promise;
  await theirs.write(Buffer.from('all of it'));
  await theirs.end();
  await theirs.reset();
  await client.ping();
  assert.equal(String(await readAll(ours)), 'all of it');
});

test('a writer waits for a reader: what is under way is bounded', async () => {
  const opened = Promise.withResolvers<SpdyStream>();
  const { client } = sessions({ opened: opened.resolve }, 16_384);
  const ours = await client.open(some);
  const theirs = await opened.promise;
  const writing = ours.write(Buffer.alloc(2_000_000));
  assert.equal(await settlesSoon(writing), false);
  let bytes = 0;
  while (bytes < 2_000_000) bytes += (await theirs.read())?.length ?? 0;
  await writing;
  assert.equal(bytes, 2_000_000);
});

test('the end of the connection cuts what has not ended, or ends it, as the session is told', async () => {
  for (const atEnd of ['cut-streams', 'end-streams'] as const) {
    const opened = Promise.withResolvers<SpdyStream>();
    const { near, client, serverRun } = sessions({ atEnd, opened: opened.resolve });
    const ours = await client.open(some);
    const theirs = await opened.promise;
    near.end();
    await serverRun;
    if (atEnd === 'end-streams') {
      assert.equal(await theirs.read(), undefined);
      await theirs.write(Buffer.from('late'));
      assert.equal(String(await ours.read()), 'late');
    } else await assert.rejects(theirs.read(), ConnectionGone);
  }
});

test('an end within a frame is no end', async () => {
  const { near, client, serverRun } = sessions({ atEnd: 'end-streams' });
  await client.open(some);
  await near.write(encodeFrame({ type: 'ping', id: 9 }).subarray(0, 9));
  near.end();
  await assert.rejects(serverRun, ProtocolViolation);
});

test('whatever waits is told when the session is destroyed', async () => {
  const { client, server, clientRun } = sessions({ accept: () => true });
  const stream = await client.open(some);
  const waits = [stream.read(), stream.closed, clientRun];
  server.destroy();
  const [read, closed, run] = await Promise.allSettled(waits);
  assert.deepEqual([read?.status, closed?.status, run?.status], ['rejected', 'fulfilled', 'rejected']);
  await assert.rejects(client.open(some), ConnectionGone);
  await assert.rejects(client.ping(), ConnectionGone);
});
