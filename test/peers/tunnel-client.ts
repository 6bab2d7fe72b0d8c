/** Runs `go/tunnel-client`, the client over the Go library of konnectivity. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { KonnectivityPair } from './konnectivity-pair.ts';
import { obtainGoProgram } from './obtain-go-program.ts';

const timeoutMs = 120_000;

export interface TunnelClientRun {
  /** `host:port` that the agent dials. */
  readonly target: string;
  /** GET / so often, each over a tunnel of its own; write one byte and read to the end; or write, and read a digest in hexadecimal. */
  readonly mode: 'requests' | 'download' | 'upload';
  /** Requests in all. Default 1. */
  readonly count?: number;
  /** Requests at a time. Default 1. */
  readonly parallel?: number;
  /** To upload. */
  readonly bytes?: number;
}

export interface TunnelClientResult {
  readonly done: number;
  readonly failed: number;
  readonly firstError?: string;
  readonly bytes: number;
  /** In hexadecimal: of what was read, or what the target said. */
  readonly sha256?: string;
  readonly wallMs: number;
  readonly cpuMs: number;
}

export async function runTunnelClient(
  { address, files }: KonnectivityPair,
  { target, mode, count = 1, parallel = 1, bytes = 0 }: TunnelClientRun,
): Promise<TunnelClientResult> {
  const args = ['-proxy', address, '-ca', files.serverCa, '-cert', files.clientCert, '-key', files.clientKey];
  args.push('-target', target, '-mode', mode);
  args.push('-count', String(count), '-parallel', String(parallel), '-bytes', String(bytes));
  const { stdout } = await promisify(execFile)(await obtainGoProgram('tunnel-client'), args, {
    timeout: timeoutMs,
  });
  const result: TunnelClientResult = JSON.parse(stdout);
  return result;
}
