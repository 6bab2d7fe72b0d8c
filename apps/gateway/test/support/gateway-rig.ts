/** A gateway in front of recorded upstreams, with everything in a folder of its own; all of it ends with the test. */

import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { createLogger } from '@roundhouse/process';
import { CertificateAuthority, RecordingServer } from '@roundhouse/simulators';
import type { RecordingServerOptions, RecordingTlsOptions } from '@roundhouse/simulators';
import { Gateway } from '../../src/index.ts';
import type { GatewayDependencies, GatewayOptionsInput } from '../../src/index.ts';

export const authority = await CertificateAuthority.create();
const serverCertificate = await authority.issue({ commonName: 'localhost', usage: 'server' });
export const adminCertificate = await authority.issue({ commonName: 'gateway', usage: 'client' });
/** Callers' certificates come from another authority than the clusters'. */
export const callersAuthority = await CertificateAuthority.create({ name: 'callers' });

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** A cluster and a user as they stand in a kubeconfig. */
export interface ContextFields {
  readonly cluster: Readonly<Record<string, unknown>>;
  readonly user?: Readonly<Record<string, unknown>>;
}

export function kubeconfigText(contexts: Readonly<Record<string, ContextFields>>): string {
  const entries = Object.entries(contexts);
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: entries.map(([name, { cluster }]) => ({ name, cluster })),
    users: entries.map(([name, { user = {} }]) => ({ name, user })),
    contexts: entries.map(([name]) => ({ name, context: { cluster: name, user: name } })),
  });
}

/** The fields of a context that reaches the server by the token `gateway-token`. */
export function contextFor(
  server: { readonly url: string },
  user: ContextFields['user'] = { token: 'gateway-token' },
): ContextFields {
  return {
    cluster: { server: server.url, 'certificate-authority-data': base64(authority.certificatePem) },
    user,
  };
}

/** Of a cluster. */
export const upstreamTls: RecordingTlsOptions = {
  certPem: serverCertificate.certPem,
  keyPem: serverCertificate.keyPem,
  clientCaPem: authority.certificatePem,
};

export function listenUpstream(options: Partial<RecordingServerOptions> = {}): Promise<RecordingServer> {
  return RecordingServer.listen({
    tls: upstreamTls,
    ...options,
  });
}

export type RigOptions = Omit<Partial<GatewayOptionsInput>, 'audit' | 'tls'> & {
  readonly handle?: RecordingServerOptions['handle'];
  readonly upstream?: Partial<RecordingServerOptions>;
  readonly contexts?: (upstream: RecordingServer) => Readonly<Record<string, ContextFields>>;
  /** Serve TLS, and ask for certificates of `callersAuthority`. */
  readonly tls?: boolean;
  /** Lines of the token file. */
  readonly tokens?: readonly string[];
  /** The text of the authorisation file, which is `rules.yaml` in the folder. */
  readonly authorization?: string;
  readonly environment?: GatewayDependencies['environment'];
  /** Given the folder. */
  readonly audit?: (folder: string) => GatewayOptionsInput['audit'];
};

export interface Rig {
  readonly gateway: Gateway;
  readonly upstream: RecordingServer;
  readonly folder: string;
  readonly kubeconfig: string;
  /** Lines of the log. */
  readonly log: Record<string, unknown>[];
  /** The lines of requests, once there are so many. */
  requestLines(count: number): Promise<Record<string, unknown>[]>;
  /** Replaces the kubeconfig in one step. */
  replaceKubeconfig(text: string): Promise<void>;
  /** Resolves when the next line is logged. */
  nextLine(): Promise<void>;
  /** Resolves when the condition holds; it is looked at whenever a line was logged. */
  waitForLog(holds: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
}

export async function openRig(t: TestContext, rig: RigOptions = {}): Promise<Rig> {
  const stack = new AsyncDisposableStack();
  t.after(() => stack.disposeAsync());
  const folder = await mkdtemp(join(tmpdir(), 'roundhouse-gateway-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const {
    handle,
    upstream: upstreamOptions,
    contexts,
    tls,
    tokens,
    authorization,
    audit,
    environment,
    ...options
  } = rig;
  const upstream = stack.use(
    await listenUpstream({ ...(handle !== undefined && { handle }), ...upstreamOptions }),
  );
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, kubeconfigText(contexts?.(upstream) ?? { alpha: contextFor(upstream) }));
  const log: Record<string, unknown>[] = [];
  const listeners = new Set<() => void>();
  const logger = createLogger({
    destination: {
      write: (line) => {
        log.push(JSON.parse(line));
        for (const listener of listeners) listener();
      },
    },
  });
  const until = async <T>(find: () => T | undefined): Promise<T> => {
    const { promise, resolve } = Promise.withResolvers<T>();
    const look = (): void => {
      const found = find();
      if (found !== undefined) resolve(found);
    };
    listeners.add(look);
    look();
    return promise.finally(() => listeners.delete(look));
  };
  const gateway = stack.use(
    await Gateway.open(
      {
        kubeconfigs: [kubeconfig],
        listen: { host: '127.0.0.1', port: 0 },
        admin: { port: 0 },
        ...options,
        limits: { drainTimeoutMs: 200, ...options.limits },
        ...(tls === true && (await tlsFiles(folder))),
        ...(tokens !== undefined && { tokenFile: await written(folder, 'tokens.csv', tokens.join('\n')) }),
        audit: audit?.(folder),
        ...(authorization !== undefined && {
          authorizationFile: await written(folder, 'rules.yaml', authorization),
        }),
      },
      { logger, environment },
    ),
  );
  return {
    gateway,
    upstream,
    folder,
    kubeconfig,
    log,
    requestLines: (count) =>
      until(() => {
        const lines = log.filter(({ msg }) => msg === 'request');
        return lines.length >= count ? lines : undefined;
      }),
    replaceKubeconfig: (text) => replaced(kubeconfig, text),
    nextLine: () => {
      const { length } = log;
      return until(() => (log.length > length ? true : undefined)).then(() => undefined);
    },
    waitForLog: (holds) => until(() => log.find(holds)),
  };
}

async function tlsFiles(folder: string): Promise<Pick<GatewayOptionsInput, 'tls' | 'clientCaFile'>> {
  return {
    tls: {
      certFile: await written(folder, 'cert.pem', serverCertificate.certPem),
      keyFile: await written(folder, 'key.pem', serverCertificate.keyPem),
    },
    clientCaFile: await written(folder, 'callers.pem', callersAuthority.certificatePem),
  };
}

export async function written(folder: string, name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

/** Puts another file in its place, in one step. */
export async function replaced(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text);
  await rename(`${path}.new`, path);
}
