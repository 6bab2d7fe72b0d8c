/** A folder with the files of some TLS material, written in all the ways in which people and programs do, and what a source says to it. */

import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { MaterialFollower, MaterialSource } from '@roundhouse/transport';

/** PEM of a pair. */
export interface Pair {
  readonly certPem: string;
  readonly keyPem: string;
}

export class MaterialFolder {
  readonly path: string;
  readonly caFile: string;
  readonly certFile: string;
  readonly keyFile: string;
  #volumes = 0;

  private constructor(path: string) {
    this.path = path;
    this.caFile = join(path, 'ca.crt');
    this.certFile = join(path, 'tls.crt');
    this.keyFile = join(path, 'tls.key');
  }

  /** It goes with the test. */
  static async create(t: TestContext): Promise<MaterialFolder> {
    const path = await mkdtemp(join(tmpdir(), 'roundhouse-material-'));
    t.after(() => rm(path, { recursive: true, force: true }));
    return new MaterialFolder(path);
  }

  get pairFiles(): { readonly certFile: string; readonly keyFile: string } {
    return { certFile: this.certFile, keyFile: this.keyFile };
  }

  get files(): { readonly caFile: string; readonly certFile: string; readonly keyFile: string } {
    return { caFile: this.caFile, ...this.pairFiles };
  }

  /** One file after the other, in place. */
  async write({ ca, pair }: { readonly ca?: string; readonly pair?: Pair }): Promise<void> {
    if (ca !== undefined) await writeFile(this.caFile, ca);
    if (pair !== undefined) {
      await writeFile(this.certFile, pair.certPem);
      await writeFile(this.keyFile, pair.keyPem);
    }
  }

  /** Another file in the place of one, in one step. */
  async replace(path: string, content: string): Promise<void> {
    await writeFile(`${path}.new`, content);
    await rename(`${path}.new`, path);
  }

  /** All files at once, as a kubelet does it: behind the link `..data`. */
  async swap(ca: string, pair: Pair): Promise<void> {
    this.#volumes += 1;
    const volume = join(this.path, `..volume-${this.#volumes}`);
    await mkdir(volume);
    for (const [name, content] of [
      ['ca.crt', ca],
      ['tls.crt', pair.certPem],
      ['tls.key', pair.keyPem],
    ] as const) {
      await writeFile(join(volume, name), content);
      if (this.#volumes === 1) await symlink(`..data/${name}`, join(this.path, name));
    }
    await symlink(`..volume-${this.#volumes}`, join(this.path, '..data_tmp'));
    await rename(join(this.path, '..data_tmp'), join(this.path, '..data'));
  }
}

/** Follows a source and keeps what it tells. */
export class SeenMaterial implements AsyncDisposable {
  /** `ca`, `pair` or `ca+pair` for each change. */
  readonly changes: string[] = [];
  /** `ca: message` for each that could not be used. */
  readonly bad: string[] = [];
  readonly follower: MaterialFollower;
  #next = Promise.withResolvers<void>();

  constructor(source: MaterialSource) {
    const told = (): void => {
      this.#next.resolve();
      this.#next = Promise.withResolvers<void>();
    };
    this.follower = source.follow({
      changed: ({ parts }) => {
        this.changes.push(parts.join('+'));
        told();
      },
      bad: ({ parts, error }) => {
        this.bad.push(`${parts.join('+')}: ${error.message}`);
        told();
      },
    });
  }

  /** Resolves when it holds; it is looked at whenever something was told. */
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      await this.#next.promise;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.follower[Symbol.asyncDispose]();
  }
}
