/** Counts what no request may cost: reads of files, parsing of certificates and keys, hashes, TLS contexts. */

import crypto from 'node:crypto';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import tls from 'node:tls';

const watched: readonly (readonly [object: object, names: readonly string[]])[] = [
  [
    crypto,
    [
      'createHash',
      'hash',
      'createHmac',
      'createPrivateKey',
      'createPublicKey',
      'X509Certificate',
      'sign',
      'verify',
    ],
  ],
  [fs, ['readFile', 'readFileSync', 'open', 'openSync', 'stat', 'statSync']],
  [fs.promises, ['readFile', 'open', 'stat']],
  [tls, ['createSecureContext', 'connect']],
];

/** From its making to its end, whoever calls them by whatever import. The names of what was called, in order. */
export class CostlyCalls implements Disposable {
  readonly names: string[] = [];
  readonly #restore: (() => void)[] = [];

  constructor() {
    for (const [object, names] of watched) {
      for (const name of names) {
        this.#watch(object, name);
      }
    }
    syncBuiltinESMExports();
  }

  #watch(object: object, name: string): void {
    const original = Reflect.get(object, name);
    const count = (): void => void this.names.push(name);
    const counting = new Proxy(original, {
      apply(target, self, args) {
        count();
        return Reflect.apply(target, self, args);
      },
      construct(target, args, newTarget) {
        count();
        return Reflect.construct(target, args, newTarget);
      },
    });
    Reflect.set(object, name, counting);
    this.#restore.push(() => Reflect.set(object, name, original));
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restore) {
      restore();
    }
    syncBuiltinESMExports();
  }
}
