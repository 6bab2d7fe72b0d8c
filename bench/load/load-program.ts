/** The process that makes the load: one load at a time, opened, run and closed as the measuring process says. */

import { answerQuestions } from '../measure/worker.ts';
import { RequestLoad } from './request-load.ts';
import type { RequestLoadOptions } from './request-load.ts';
import { WatchLoad } from './watch-load.ts';
import type { WatchLoadOptions } from './watch-load.ts';

function loadHandlers() {
  let requests: RequestLoad | undefined;
  let watches: WatchLoad | undefined;
  return {
    async openRequests(options: RequestLoadOptions) {
      requests = await RequestLoad.open(options);
    },
    async runRequests(durationMs: number) {
      if (requests === undefined) throw new Error('no load is open');
      return requests.run(durationMs);
    },
    async openWatches(options: WatchLoadOptions) {
      watches = await WatchLoad.open(options);
    },
    async deliveredEvents(event: number) {
      if (watches === undefined) throw new Error('no watches are open');
      return watches.delivered(event);
    },
    close(_nothing: undefined) {
      requests?.close();
      watches?.close();
      requests = undefined;
      watches = undefined;
    },
  };
}

export type LoadHandlers = ReturnType<typeof loadHandlers>;

if (import.meta.main) answerQuestions(loadHandlers());
