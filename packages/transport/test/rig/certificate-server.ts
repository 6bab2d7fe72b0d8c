/** A server that knows its clients by their certificates and may stop taking one of them, as a kube-apiserver does: request by request. */

import { RecordingServer } from '@roundhouse/simulators';
import type { CertificateAuthority, Exchange, HttpProtocol } from '@roundhouse/simulators';
import type { Pair } from './material-folder.ts';

const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';

export class CertificateServer implements AsyncDisposable {
  readonly server: RecordingServer;
  /** Common names whose requests are answered 401. */
  readonly refused = new Set<string>();

  private constructor(server: RecordingServer) {
    this.server = server;
    server.handle = (exchange) => this.#answer(exchange);
  }

  static async listen(
    authority: CertificateAuthority,
    serving: Pair,
    protocols: readonly HttpProtocol[] = ['h2', 'http/1.1'],
  ): Promise<CertificateServer> {
    return new CertificateServer(
      await RecordingServer.listen({
        tls: { ...serving, clientCaPem: authority.certificatePem },
        protocols,
        upgrades: true,
        keepRecords: 1_000,
      }),
    );
  }

  get url(): string {
    return this.server.url;
  }

  /** Open connections by the common name of their client, idle ones apart. */
  open(name: string): { readonly all: number; readonly idle: number } {
    const connections = this.server.connections.filter(
      ({ open, tls }) => open && tls?.clientCommonName === name,
    );
    return { all: connections.length, idle: connections.filter(({ idle }) => idle).length };
  }

  /** `/watch` is begun and not ended, an upgrade is agreed to, all else is answered with the name of the client. */
  async #answer(exchange: Exchange): Promise<void> {
    const name = exchange.connection.tls?.clientCommonName ?? 'nobody';
    if (this.refused.has(name)) {
      await exchange.respond({ status: 401 });
    } else if (exchange.upgrade !== undefined) {
      exchange.upgrade.switchProtocols(switching)?.on('error', () => undefined);
    } else if (exchange.request.path === '/watch') {
      await exchange.writeHead(200);
    } else {
      await exchange.respond({ body: name });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
  }
}
