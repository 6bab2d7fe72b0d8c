/**
 * A kubeconfig as it was parsed last. When one of the files that it names has changed it is read again and is what it was; parsing
 * that of two thousand clusters once more would hold everything up for half a second.
 */

import { parseKubeconfig } from '@roundhouse/kubernetes';
import type { Kubeconfig } from '@roundhouse/kubernetes';

export class LastKubeconfig {
  #content: Buffer | undefined;
  #parsed: Kubeconfig | undefined;

  /** @throws ERR_RH_KUBECONFIG_INVALID */
  parse(content: string | Uint8Array, name: string): Kubeconfig {
    const bytes = Buffer.from(content);
    if (this.#parsed === undefined || this.#content?.equals(bytes) !== true) {
      this.#parsed = parseKubeconfig(content, name);
      this.#content = bytes;
    }
    return this.#parsed;
  }
}
