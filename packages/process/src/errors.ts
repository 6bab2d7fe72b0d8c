/**
 * Failures of a program's surroundings: its options, its addresses, its files, its end. The shape is that of all errors of
 * Roundhouse (same fields, same brand), written out here because this package depends on none of the others.
 */

import { exitCodes } from './exit-codes.ts';

interface ProcessCatalogueEntry {
  readonly summary: string;
  readonly remedy: string;
  readonly retry: 'never' | 'safe' | 'after';
  readonly httpStatus: number;
  readonly exitCode: number;
}

export const processErrors = {
  ERR_RH_OPTIONS_INVALID: {
    summary: 'An option is unknown, missing or has a value that it cannot have.',
    remedy: 'Correct the option that the message names; --help shows all of them with their defaults.',
    retry: 'never',
    httpStatus: 500,
    exitCode: exitCodes.configuration,
  },
  ERR_RH_LISTEN_FAILED: {
    summary: 'The address to listen on cannot be used.',
    remedy:
      'Stop what listens there, or choose another address or port with the option that the message names.',
    retry: 'after',
    httpStatus: 500,
    exitCode: exitCodes.configuration,
  },
  ERR_RH_FILE_UNUSABLE: {
    summary: 'A file that was named cannot be read, or what is in it cannot be used.',
    remedy: 'Check that the file exists, that this process may read it, and the reason in the message.',
    retry: 'never',
    httpStatus: 500,
    exitCode: exitCodes.configuration,
  },
  ERR_RH_SCOPE_CLOSE_TIMEOUT: {
    summary: 'Something that the program owns did not end within the time limit for closing.',
    remedy: 'Report it with the names in the message: whatever is opened must be able to end.',
    retry: 'never',
    httpStatus: 500,
    exitCode: exitCodes.finding,
  },
} as const satisfies Record<string, ProcessCatalogueEntry>;

export type ProcessErrorCode = keyof typeof processErrors;

const brand = Symbol.for('roundhouse.error');

export class ProcessError extends Error {
  readonly code: ProcessErrorCode;
  readonly retry: ProcessCatalogueEntry['retry'];
  readonly httpStatus: number;
  readonly exitCode: number;
  readonly data: Readonly<Record<string, unknown>> = {};
  readonly [brand] = true;

  constructor(code: ProcessErrorCode, message: string, details: { readonly cause?: unknown } = {}) {
    super(`${code}: ${message}`, details);
    const { retry, httpStatus, exitCode } = processErrors[code];
    this.name = 'ProcessError';
    this.code = code;
    this.retry = retry;
    this.httpStatus = httpStatus;
    this.exitCode = exitCode;
  }
}
