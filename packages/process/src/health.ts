/**
 * Named checks behind /livez and /readyz, printed as the kube-apiserver prints its own: `ok` alone, or with `?verbose`
 * one line a check (k8s.io/apiserver, pkg/server/healthz). Reasons are for logs; a caller reads `reason withheld`.
 */

export interface HealthCheck {
  readonly name: string;
  /** Undefined when healthy, else the reason. Must answer at once: a probe that waits is a probe that fails. */
  readonly check: () => string | undefined;
}

export interface HealthReport {
  readonly healthy: boolean;
  /** Names of the failed checks, with reasons. */
  readonly failed: readonly { readonly name: string; readonly reason: string }[];
  /** The text for the HTTP answer. */
  readonly text: string;
}

export interface HealthQuery {
  readonly verbose?: boolean;
  /** Names of checks to leave out. */
  readonly exclude?: readonly string[];
}

export class Health {
  readonly #kind: 'livez' | 'readyz';
  /** Bounded by the checks that a program has; never shrinks. */
  readonly #checks: HealthCheck[] = [{ name: 'ping', check: () => undefined }];

  constructor(kind: 'livez' | 'readyz') {
    this.#kind = kind;
  }

  add(check: HealthCheck): void {
    this.#checks.push(check);
  }

  report({ verbose = false, exclude = [] }: HealthQuery = {}): HealthReport {
    const failed: { name: string; reason: string }[] = [];
    const lines: string[] = [];
    for (const { name, check } of this.#checks) {
      if (exclude.includes(name)) {
        lines.push(`[+]${name} excluded: ok`);
        continue;
      }
      const reason = outcomeOf(check);
      if (reason === undefined) {
        lines.push(`[+]${name} ok`);
      } else {
        failed.push({ name, reason });
        lines.push(`[-]${name} failed: reason withheld`);
      }
    }
    if (failed.length > 0) {
      return { healthy: false, failed, text: `${lines.join('\n')}\n${this.#kind} check failed\n` };
    }
    return {
      healthy: true,
      failed,
      text: verbose ? `${lines.join('\n')}\n${this.#kind} check passed\n` : 'ok',
    };
  }
}

/** A check that throws is a check that failed. */
function outcomeOf(check: HealthCheck['check']): string | undefined {
  try {
    return check();
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
