/**
 * A kubeconfig as it stands in its file: parsed by kubectl's rules, nothing resolved, no other file read. Unknown fields are
 * let pass, as kubectl does; a field of the wrong type, and a name that is there twice, make the file invalid, as for kubectl
 * (k8s.io/client-go, tools/clientcmd/api/v1).
 */

import { KubernetesError } from './errors.ts';
import { YamlTextError, parseYamlText } from './yaml-text.ts';

/** The fields of a cluster that we know, each as it is written. */
export interface KubeconfigCluster {
  readonly server: string | undefined;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly certificateAuthority: string | undefined;
  readonly certificateAuthorityData: string | undefined;
  readonly proxyUrl: string | undefined;
  readonly disableCompression: boolean;
  /** Of the extension `client.authentication.k8s.io/exec`: what an exec plugin is told about this cluster. Any JSON. */
  readonly execConfig: unknown;
}

/** How a program is run that gives the credential. */
export interface KubeconfigExec {
  readonly command: string | undefined;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly apiVersion: string | undefined;
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
  readonly interactiveMode: string | undefined;
}

export interface KubeconfigUser {
  readonly clientCertificate: string | undefined;
  readonly clientCertificateData: string | undefined;
  readonly clientKey: string | undefined;
  readonly clientKeyData: string | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly exec: KubeconfigExec | undefined;
  /** Names of fields that are set and not supported, for instance `auth-provider`. */
  readonly unsupported: readonly string[];
}

export interface KubeconfigContext {
  readonly cluster: string;
  readonly user: string | undefined;
  readonly namespace: string | undefined;
}

export interface Kubeconfig {
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, KubeconfigCluster>;
  readonly users: ReadonlyMap<string, KubeconfigUser>;
  readonly contexts: ReadonlyMap<string, KubeconfigContext>;
}

/** 2,000 clusters with inline certificates take about 12 MB. */
export const maxKubeconfigBytes = 32 * 1024 * 1024;

/**
 * @param name for messages, usually the path
 * @throws ERR_RH_KUBECONFIG_INVALID. Nothing of the content is quoted but names of fields and entries.
 */
export function parseKubeconfig(content: string | Uint8Array, name: string): Kubeconfig {
  try {
    return readRoot(parseYamlText(decode(content)));
  } catch (error) {
    if (error instanceof Problem || error instanceof YamlTextError) {
      throw new KubernetesError('ERR_RH_KUBECONFIG_INVALID', `${name}: ${error.message}`);
    }
    throw error;
  }
}

class Problem extends Error {}

function decode(content: string | Uint8Array): string {
  if (content.length > maxKubeconfigBytes) {
    throw new Problem(`larger than ${maxKubeconfigBytes} bytes`);
  }
  if (typeof content === 'string') {
    return content;
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    throw new Problem('it is not UTF-8 text');
  }
}

function readRoot(value: unknown): Kubeconfig {
  if (value === null || value === undefined) {
    throw new Problem('it is empty');
  }
  const root = new Fields(value, 'the document');
  const kind = root.text('kind');
  const version = root.text('apiVersion');
  if ((kind ?? 'Config') !== 'Config' || (version ?? 'v1') !== 'v1') {
    throw new Problem('it is not a Config of apiVersion v1');
  }
  if (!['clusters', 'contexts', 'users'].some((section) => root.has(section))) {
    throw new Problem('it has neither clusters nor contexts nor users');
  }
  return {
    currentContext: root.text('current-context'),
    clusters: readNamed(root, 'clusters', 'cluster', readCluster),
    users: readNamed(root, 'users', 'user', readUser),
    contexts: readNamed(root, 'contexts', 'context', readContext),
  };
}

function readNamed<T>(
  root: Fields,
  section: string,
  key: string,
  read: (fields: Fields) => T,
): ReadonlyMap<string, T> {
  const entries = new Map<string, T>();
  for (const [index, item] of root.list(section).entries()) {
    const entry = new Fields(item, `${section}[${index}]`);
    const name = entry.text('name') ?? '';
    if (entries.has(name)) {
      throw new Problem(`${section} has two entries of the name "${name}"`);
    }
    entries.set(name, read(entry.fields(key)));
  }
  return entries;
}

function readCluster(fields: Fields): KubeconfigCluster {
  return {
    server: fields.text('server'),
    tlsServerName: fields.text('tls-server-name'),
    insecureSkipTlsVerify: fields.flag('insecure-skip-tls-verify'),
    certificateAuthority: fields.text('certificate-authority'),
    certificateAuthorityData: fields.text('certificate-authority-data'),
    proxyUrl: fields.text('proxy-url'),
    disableCompression: fields.flag('disable-compression'),
    execConfig: readExecConfig(fields),
  };
}

/** The extensions of others are none of our business, whatever they look like. */
function readExecConfig(fields: Fields): unknown {
  for (const item of fields.items('extensions')) {
    if (isMapping(item) && item['name'] === 'client.authentication.k8s.io/exec') {
      return item['extension'];
    }
  }
  return undefined;
}

/** Each would change who we are at the cluster: leaving one out silently would be a different identity. */
const unsupportedUserFields = [
  'auth-provider',
  'username',
  'password',
  'as',
  'as-uid',
  'as-groups',
  'as-user-extra',
];

function readUser(fields: Fields): KubeconfigUser {
  return {
    clientCertificate: fields.text('client-certificate'),
    clientCertificateData: fields.text('client-certificate-data'),
    clientKey: fields.text('client-key'),
    clientKeyData: fields.text('client-key-data'),
    token: fields.text('token'),
    tokenFile: fields.text('tokenFile'),
    exec: fields.has('exec') ? readExec(fields.fields('exec')) : undefined,
    unsupported: unsupportedUserFields.filter((name) => fields.has(name)),
  };
}

function readExec(fields: Fields): KubeconfigExec {
  return {
    command: fields.text('command'),
    args: fields.texts('args'),
    env: fields.entries('env').map((entry) => ({
      name: entry.text('name') ?? '',
      value: entry.text('value') ?? '',
    })),
    apiVersion: fields.text('apiVersion'),
    installHint: fields.text('installHint'),
    provideClusterInfo: fields.flag('provideClusterInfo'),
    interactiveMode: fields.text('interactiveMode'),
  };
}

function readContext(fields: Fields): KubeconfigContext {
  return {
    cluster: fields.text('cluster') ?? '',
    user: fields.text('user'),
    namespace: fields.text('namespace'),
  };
}

/** A mapping whose fields are taken out by name and type. Empty text counts as absent, as in Go. */
class Fields {
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #where: string;

  constructor(value: unknown, where: string) {
    if (value !== null && value !== undefined && !isMapping(value)) {
      throw new Problem(`${where} is not a mapping`);
    }
    this.#values = new Map(Object.entries(value ?? {}));
    this.#where = where;
  }

  /** Set to something other than nothing. */
  has(name: string): boolean {
    const value = this.#values.get(name);
    return value !== undefined && value !== null && value !== '';
  }

  text(name: string): string | undefined {
    if (!this.has(name)) {
      return undefined;
    }
    const value = this.#values.get(name);
    if (typeof value !== 'string') {
      throw new Problem(`${this.#where}.${name} is not text`);
    }
    return value;
  }

  flag(name: string): boolean {
    const value = this.has(name) ? this.#values.get(name) : false;
    if (typeof value !== 'boolean') {
      throw new Problem(`${this.#where}.${name} is neither true nor false`);
    }
    return value;
  }

  list(name: string): readonly unknown[] {
    const value = this.has(name) ? this.#values.get(name) : [];
    if (!Array.isArray(value)) {
      throw new Problem(`${this.#where}.${name} is not a list`);
    }
    return value;
  }

  /** What is a list by chance: anything else is passed over. */
  items(name: string): readonly unknown[] {
    const value = this.#values.get(name);
    return Array.isArray(value) ? value : [];
  }

  texts(name: string): readonly string[] {
    return this.list(name).map((item, index) => {
      if (typeof item !== 'string') {
        throw new Problem(`${this.#where}.${name}[${index}] is not text`);
      }
      return item;
    });
  }

  entries(name: string): readonly Fields[] {
    return this.list(name).map((item, index) => new Fields(item, `${this.#where}.${name}[${index}]`));
  }

  fields(name: string): Fields {
    return new Fields(this.#values.get(name), `${this.#where}.${name}`);
  }
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
