/**
 * The net below the rule that secrets are not logged: whatever stands under a name by which a secret might come is written as
 * `[redacted]`, at any depth. A line of plain fields, which most are, costs one look at each name and is passed on as it is.
 */

const censored = '[redacted]';

/** Lower case, and without what people put between words: `clientKey`, `client-key` and `client_key` are one name. */
const secretNames: ReadonlySet<string> = new Set([
  'authorization',
  'proxyauthorization',
  'cookie',
  'setcookie',
  'token',
  'accesstoken',
  'idtoken',
  'refreshtoken',
  'bearertoken',
  'password',
  'passphrase',
  'secret',
  'clientsecret',
  'apikey',
  'xapikey',
  'key',
  'keypem',
  'privatekey',
  'clientkey',
  'clientkeydata',
  'cert',
  'certpem',
  'pem',
  'capem',
]);

const longestSecretName = 'proxy-authorization'.length;

/**
 * Nothing of ours is deeper or larger. What is would be a foreign object, a socket for instance, of which nothing is known and
 * which would take long to go through.
 */
const maxDepth = 6;
const maxValues = 1_000;

/** The fields of a line or the bindings of a child logger. What was given is not changed. */
export function withoutSecrets(fields: Record<string, unknown>): Record<string, unknown> {
  for (const name in fields) {
    const value = fields[name];
    if ((typeof value === 'object' && value !== null) || isSecretName(name)) {
      return new Redaction().fields(fields, 0);
    }
  }
  return fields;
}

/** Going through one line. */
class Redaction {
  #values = 0;

  fields(fields: object, depth: number): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        // The logger has a way of its own with errors under this name, message and stack first; what it makes comes here, too.
        name === 'err' && depth === 0 && value instanceof Error
          ? value
          : isSecretName(name)
            ? censored
            : this.#value(value, depth),
      ]),
    );
  }

  #value(value: unknown, depth: number): unknown {
    this.#values += 1;
    if (typeof value !== 'object' || value === null) {
      return value;
    }
    // Bytes may be anything, a key above all.
    if (depth >= maxDepth || this.#values > maxValues || ArrayBuffer.isView(value)) {
      return censored;
    }
    if (Array.isArray(value)) {
      return this.#list(value, depth + 1);
    }
    // A date, a URL: no bags of fields.
    return 'toJSON' in value ? value : this.fields(value, depth + 1);
  }

  /** Header fields also come as one list, name, value, name, value, and as pairs. */
  #list(list: readonly unknown[], depth: number): unknown[] {
    let named = false;
    return list.map((item) => {
      const shown = named ? censored : this.#value(item, depth);
      named = !named && typeof item === 'string' && isSecretName(item);
      return shown;
    });
  }
}

function isSecretName(name: string): boolean {
  return (
    name.length <= longestSecretName &&
    (secretNames.has(name) || secretNames.has(name.toLowerCase().replaceAll(/[-_]/g, '')))
  );
}
