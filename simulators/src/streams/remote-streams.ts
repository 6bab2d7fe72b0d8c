/** The streams of a remote command, whichever protocol carries them, as the side that runs the command has them in hand. */

import type { ByteSink, ByteSource } from './byte-pipe.ts';

/** What a client asks for; from the query of the request. */
export interface RemoteCommandOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

export interface RemoteStreams {
  readonly stdin: ByteSource | undefined;
  readonly stdout: ByteSink | undefined;
  readonly stderr: ByteSink | undefined;
  /** JSON texts, `{"Width":80,"Height":24}`, one after the other. */
  readonly resizes: ByteSource | undefined;
  /** Aborted when the client is gone, so that nothing can be told to it any more. */
  readonly gone: AbortSignal;
  /** Sends how it went, when the outputs have ended, and ends the connection. */
  finish(outcome: CommandOutcome): Promise<void>;
}

export type CommandOutcome =
  | { readonly kind: 'exited'; readonly code: number; readonly command: readonly string[] }
  /** It never ran, or nobody knows how it ended. */
  | { readonly kind: 'failed'; readonly message: string };

export interface StatusForm {
  /** Who tells: the kubelet's runtime, or the apiserver in its own words. */
  readonly by: 'runtime' | 'apiserver';
}

/** As the error stream carries it from v4 on. */
export function statusOf(outcome: CommandOutcome, { by }: StatusForm): object {
  if (outcome.kind === 'failed') {
    const message = `Internal error occurred: ${outcome.message}`;
    const details = { causes: [{ message: outcome.message }] };
    return { metadata: {}, status: 'Failure', message, reason: 'InternalError', details, code: 500 };
  }
  const { code, command } = outcome;
  if (code === 0) return { metadata: {}, status: 'Success' };
  const ending =
    by === 'runtime'
      ? `error executing command [${command.join(' ')}], exit code ${code}`
      : `command terminated with exit code ${code}`;
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: ${ending}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(code) }] },
  };
}

/** As the error stream carries it before v4: nothing of a success. */
export function failureText(outcome: CommandOutcome): string {
  const status: { readonly message?: string } = statusOf(outcome, { by: 'runtime' });
  return status.message ?? '';
}
