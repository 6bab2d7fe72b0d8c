/** Structured logs: one JSON object a line, on stdout. Secrets are kept out by never logging them; the list is the net below. */

import { pino, stdTimeFunctions } from 'pino';
import type { DestinationStream, Logger } from 'pino';

export type { Logger } from 'pino';

export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

export interface LoggerOptions {
  readonly level?: LogLevel | undefined;
  /** Default: stdout. Written as fast as it takes lines, and to the last one when the process exits. */
  readonly destination?: DestinationStream | undefined;
}

/** Names under which a secret might be logged by mistake, at the top or one level down. */
const secretNames = [
  'authorization',
  'Authorization',
  'cookie',
  'set-cookie',
  'token',
  'password',
  'key',
  'cert',
  'pem',
];

export function createLogger({ level = 'info', destination }: LoggerOptions = {}): Logger {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    redact: {
      paths: secretNames.flatMap((name) => [`["${name}"]`, `*["${name}"]`]),
      censor: '[redacted]',
    },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}
