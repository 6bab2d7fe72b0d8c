/** Structured logs: one JSON object a line, on stdout. Secrets are kept out by never logging them; the list is the net below. */

import { pino, stdSerializers } from 'pino';
import type { Bindings, ChildLoggerOptions, DestinationStream, Logger } from 'pino';
import { openLogOutput } from './log-output.ts';
import { withoutSecrets } from './redaction.ts';

export type { Logger } from 'pino';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LoggerOptions {
  readonly level?: LogLevel | undefined;
  /** Default: stdout, in batches and in the background, to the last line when the process exits. */
  readonly destination?: DestinationStream | undefined;
}

export function createLogger({ level = 'info', destination }: LoggerOptions = {}): Logger {
  const options = {
    level,
    base: null,
    timestamp: isoTime(),
    serializers: {
      err: (error: Error) => withoutSecrets(stdSerializers.err(error)),
    },
    formatters: {
      level: (label: string) => ({ level: label }),
      // Not pino's own redaction: that goes through all paths again for each value of each line, which was a seventh of what a
      // short request costs the gateway, and it does not look deeper than the paths say.
      log: withoutSecrets,
    },
  };
  return redactBindings(pino(options, destination ?? openLogOutput()));
}

/** Children write what they are bound to without asking a formatter. They inherit from their parent, and this with it. */
function redactBindings(logger: Logger): Logger {
  // oxlint-disable-next-line typescript/unbound-method -- both are called with the logger that they are called on
  const { child, setBindings } = logger;
  return Object.assign(logger, {
    child(this: Logger, bindings: Bindings, options?: ChildLoggerOptions): unknown {
      const made: unknown = Reflect.apply(child, this, [withoutSecrets(bindings), options]);
      return made;
    },
    setBindings(this: Logger, bindings: Bindings) {
      setBindings.call(this, withoutSecrets(bindings));
    },
  });
}

/** Many lines have the same millisecond, and writing a date out is dear. */
function isoTime(): () => string {
  let textMs = Number.NaN;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== textMs) {
      textMs = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}
