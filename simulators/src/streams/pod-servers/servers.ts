/** The servers that every simulated pod has, by their ports. Each pod has its own, so what they count is the pod's. */

import type { PodConnection, PodServer } from './pod-connection.ts';

export function commonServers(podName: string): ReadonlyMap<number, PodServer> {
  return new Map([
    [7, echo],
    [80, hello(podName)],
    [8080, hello(podName)],
    [9000, resetEveryThird()],
  ]);
}

/** Sends back what comes. */
async function echo(connection: PodConnection): Promise<void> {
  for (let bytes = await connection.read(); bytes !== undefined; bytes = await connection.read()) {
    await connection.write(bytes);
  }
}

/** HTTP/1.1 with keep-alive: `hello from <pod>` and the path, to whatever is asked. */
function hello(podName: string): PodServer {
  return async (connection) => {
    let received = '';
    for (let bytes = await connection.read(); bytes !== undefined; bytes = await connection.read()) {
      received += bytes.toString('latin1');
      for (let end = received.indexOf('\r\n\r\n'); end >= 0; end = received.indexOf('\r\n\r\n')) {
        const head = received.slice(0, end);
        received = received.slice(end + 4);
        const body = `hello from ${podName} ${head.split(' ', 2)[1] ?? ''}\n`;
        const last = /\r\nconnection: close/i.test(head);
        const fields = [
          'Content-Type: text/plain',
          `Content-Length: ${body.length}`,
          ...(last ? ['Connection: close'] : []),
        ];
        await connection.write(Buffer.from(['HTTP/1.1 200 OK', ...fields, '', body].join('\r\n')));
        if (last) return;
      }
      if (received.length > 65_536) return connection.reset();
    }
  };
}

/** An echo that resets its third connection, its sixth, ... as soon as something comes. */
function resetEveryThird(): PodServer {
  let count = 0;
  return async (connection) => {
    count += 1;
    if (count % 3 !== 0) return echo(connection);
    await connection.read();
    connection.reset();
  };
}
