/** nginx as it is used here twice, as the upstream and as a contestant: one worker, everything it writes in our folder. */

export interface NginxConfigOptions {
  readonly folder: string;
  /** Keeps the files of several apart. */
  readonly name: string;
  readonly accessLog: boolean;
  /** Directives of the http block besides. */
  readonly http?: string;
  /** Directives of its one server. */
  readonly server: string;
}

export function nginxConfig({ folder, name, accessLog, http = '', server }: NginxConfigOptions): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((kind) => `  ${kind}_temp_path ${folder}/${name}-${kind};`)
    .join('\n');
  // A worker that root starts would change to a user who may not read our folder.
  const user = process.getuid?.() === 0 ? 'user root;' : '';
  return `${user}
daemon off;
worker_processes 1;
worker_rlimit_nofile 16384;
pid ${folder}/${name}.pid;
error_log stderr error;
events {
  worker_connections 8192;
}
http {
  access_log ${accessLog ? `${folder}/${name}.access.log` : 'off'};
${temporary}
  default_type application/json;
  sendfile on;
  tcp_nodelay on;
  open_file_cache max=16;
  # The contestants keep their connections; an upstream that closes one now and then would be a case of its own.
  keepalive_timeout 1h;
  keepalive_requests 1000000000;
  http2_max_concurrent_streams 250;
${http}
  server {${server}
  }
}
`;
}
