/**
 * Callers by bearer token, from a file in the form of the kube-apiserver's `--token-auth-file`:
 * `token,user,uid,"group1,group2"`, groups optional. The tokens themselves are not kept, only keyed digests of them, so
 * neither a dump of the process nor the time of a comparison tells one.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Caller } from './caller.ts';
import { parseCsv } from './csv-records.ts';

export const maxTokenFileBytes = 8 * 1024 * 1024;

interface Entry {
  readonly digest: Buffer;
  readonly caller: Caller;
}

export class TokenFile {
  /** Of this process alone. */
  readonly #key = randomBytes(32);
  /** By digest; as many as the file has lines. */
  readonly #entries = new Map<string, Entry>();

  private constructor() {}

  /** @throws Error that names the line; no token is in it */
  static parse(text: string): TokenFile {
    const file = new TokenFile();
    for (const { line, fields } of parseCsv(text)) {
      const [token = '', user = '', uid = '', groups = ''] = fields;
      if (fields.length < 3 || fields.length > 4) {
        throw new Error(`line ${line}: not of the form token,user,uid,"group1,group2"`);
      }
      if (!/^[\x21-\x7e]+$/.test(token)) {
        throw new Error(`line ${line}: the token is empty or has characters that a header field cannot have`);
      }
      if (user === '') {
        throw new Error(`line ${line}: the user is empty`);
      }
      const digest = file.#digest(token);
      const key = digest.toString('latin1');
      if (file.#entries.has(key)) {
        throw new Error(`line ${line}: the token is there a second time`);
      }
      const caller: Caller = {
        method: 'token',
        user,
        uid: uid === '' ? undefined : uid,
        groups: groups.split(',').filter((group) => group !== ''),
      };
      file.#entries.set(key, { digest, caller });
    }
    if (file.#entries.size === 0) {
      throw new Error('it has no tokens');
    }
    return file;
  }

  callerOf(token: string): Caller | undefined {
    // What the map's own comparison takes tells about a keyed digest only, which nobody outside can choose.
    const digest = this.#digest(token);
    const entry = this.#entries.get(digest.toString('latin1'));
    return entry !== undefined && timingSafeEqual(entry.digest, digest) ? entry.caller : undefined;
  }

  #digest(token: string): Buffer {
    return createHmac('sha256', this.#key).update(token).digest();
  }
}
