/** A wait for what others may wait for, too: a signal ends the wait, and not what is waited for. */

import { TransportError } from '@roundhouse/transport';

/**
 * What `obtain` resolves with, which is not called where the signal has spoken already.
 *
 * @throws ERR_RH_ABORTED with the reason of the signal as its cause, and what `obtain` rejects with before that
 */
export async function unlessAborted<Result>(
  obtain: () => Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) {
    return obtain();
  }
  const given = Promise.withResolvers<never>();
  const giveUp = (): void => {
    const cause: unknown = signal.reason;
    given.reject(
      new TransportError('ERR_RH_ABORTED', 'the request was given up while it waited for a credential', {
        cause,
      }),
    );
  };
  if (signal.aborted) {
    giveUp();
    return given.promise;
  }
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    return await Promise.race([obtain(), given.promise]);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
