import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ChildProgram, freePort } from '../measure/child-program.ts';
import type { Contestant } from './contestant.ts';
import { nginxConfig } from './nginx-config.ts';

/**
 * nginx as somebody sets it up who wants what the gateway does: connections kept, the upstream's certificate verified, a credential
 * added, answers passed on as they come. Without the last, a watch would not work.
 */
export function nginxProxy(nginx: string): Contestant {
  return {
    name: 'nginx',
    setup:
      'one worker and its master, access log on (into a file), `proxy_buffering off` (a watch needs it), verified HTTP/1.1 over TLS to the cluster over kept connections',
    async start({ rig, upstream, front }) {
      const port = await freePort();
      const name = `proxy-${port}`;
      const file = join(rig.folder, `${name}.conf`);
      const tls =
        front === 'https'
          ? `ssl_certificate ${rig.certFile}; ssl_certificate_key ${rig.keyFile}; ssl_protocols TLSv1.2 TLSv1.3;`
          : '';
      await writeFile(
        file,
        nginxConfig({
          folder: rig.folder,
          name,
          accessLog: true,
          http: `
  upstream cluster {
    server 127.0.0.1:${rig.ports[upstream]};
    keepalive 64;
    keepalive_requests 1000000000;
    keepalive_timeout 1h;
  }`,
          server: `
    listen 127.0.0.1:${port}${front === 'https' ? ' ssl http2' : ''};
    ${tls}
    location / {
      proxy_pass https://cluster;
      proxy_http_version 1.1;
      proxy_buffering off;
      proxy_read_timeout 1h;
      proxy_set_header Connection "";
      proxy_set_header Authorization "Bearer ${rig.token}";
      proxy_ssl_protocols TLSv1.2 TLSv1.3;
      proxy_ssl_verify on;
      proxy_ssl_trusted_certificate ${rig.caFile};
      proxy_ssl_name localhost;
    }`,
        }),
      );
      const program = await ChildProgram.start({ command: nginx, args: ['-p', rig.folder, '-c', file] });
      await program.listensOn(port);
      return {
        pid: program.pid,
        url: `${front}://127.0.0.1:${port}`,
        [Symbol.asyncDispose]: async () => program[Symbol.asyncDispose](),
      };
    },
  };
}
