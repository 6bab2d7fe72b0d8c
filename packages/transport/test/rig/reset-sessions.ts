/** HTTP/2 sessions that their server resets in the middle of an upload, one after the other. */

import assert from 'node:assert/strict';
import { RecordingServer } from '@roundhouse/simulators';
import { Endpoint, TransportPool } from '@roundhouse/transport';
import { Call } from './call.ts';
import { until } from './until.ts';

export class ResetSessions implements AsyncDisposable {
  readonly #server: RecordingServer;
  readonly #pool = new TransportPool();

  private constructor(server: RecordingServer) {
    this.#server = server;
  }

  static async open(): Promise<ResetSessions> {
    const server = await RecordingServer.listen({
      protocols: ['h2'],
      keepRecords: 10,
      handle: async (exchange) => {
        if (exchange.request.path === '/reset') {
          exchange.connection.reset();
        } else {
          await exchange.respond({ body: 'ok' });
        }
      },
    });
    return new ResetSessions(server);
  }

  /** Each is reset under an upload; in the very turn in which that is told, a request is sent, and must succeed. */
  async run(sessions: number): Promise<void> {
    using lease = this.#pool.lease(Endpoint.from({ url: this.#server.url, alpn: 'h2' }));
    const body = Buffer.alloc(100_000);
    for (let session = 0; session < sessions; session += 1) {
      let next: Promise<string> | undefined;
      const lost = Call.start(lease, {
        path: '/reset',
        method: 'POST',
        body,
        on: {
          error: () => {
            next = Call.text(lease);
          },
        },
      });
      await lost.ended;
      assert.match(lost.code ?? '', /^ERR_RH_CONNECTION_(?:LOST|STALE)$/);
      assert.equal(await next, 'ok');
    }
    await this.#server.waitForOpen(1);
    await until(() => this.#pool.inspect().transports[0]?.connections.idle === 1, 'one session is left');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#pool.destroy();
    await this.#server[Symbol.asyncDispose]();
  }
}
