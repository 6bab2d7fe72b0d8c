/** The process that makes the load of sessions; each question is one load, but for the idle ones, which stay until they are closed. */

import { createHistogram } from 'node:perf_hooks';
import { answerQuestions } from '../measure/worker.ts';
import { ExecClient } from './exec-client.ts';
import type { ExecAsk } from './exec-client.ts';
import { framesIn } from './exec-upstream.ts';
import { outputFrameBytes } from './frames.ts';

export interface OutputAsk extends ExecAsk {
  readonly streams: number;
  /** Of each; what comes is a whole number of frames. */
  readonly bytes: number;
  /** At which each is read; default: as fast as it comes. */
  readonly bytesPerSecond?: number;
}

/** So many are opened at a time. */
const openingAtOnce = 25;

function execHandlers() {
  const idle: ExecClient[] = [];
  return {
    /** Short ones, each on a connection of its own, one after the other in each lane. */
    async runExecs(ask: ExecAsk & { readonly lanes: number; readonly durationMs: number }) {
      const latencies = createHistogram({ figures: 3 });
      const startedAt = performance.now();
      const until = startedAt + ask.durationMs;
      let sessions = 0;
      const keepAsking = async (): Promise<void> => {
        for (let askedAt = performance.now(); askedAt < until; askedAt = performance.now()) {
          const client = await ExecClient.open(ask, 'once');
          if (!(await client.ping())) throw new Error('the session ended without an answer');
          await client.closes();
          latencies.record(Math.max(1, Math.round((performance.now() - askedAt) * 1000)));
          sessions += 1;
        }
      };
      await Promise.all(Array.from({ length: ask.lanes }, keepAsking));
      return {
        sessions,
        seconds: (performance.now() - startedAt) / 1000,
        p50Ms: latencies.percentile(50) / 1000,
        p99Ms: latencies.percentile(99) / 1000,
      };
    },
    /** Fails unless every byte came. */
    async runOutput(ask: OutputAsk) {
      const frames = framesIn(ask.bytes);
      const startedAt = performance.now();
      const read = async (): Promise<number> => {
        const client = await ExecClient.open(ask, frames, ask.bytesPerSecond);
        await client.closes();
        if (client.bytes !== frames * outputFrameBytes) {
          throw new Error(`${client.bytes} bytes came of ${frames * outputFrameBytes}`);
        }
        return client.bytes;
      };
      const bytes = await Promise.all(Array.from({ length: ask.streams }, read));
      return {
        bytes: bytes.reduce((sum, count) => sum + count, 0),
        seconds: (performance.now() - startedAt) / 1000,
      };
    },
    async openIdle(ask: ExecAsk & { readonly sessions: number }) {
      while (idle.length < ask.sessions) {
        const count = Math.min(openingAtOnce, ask.sessions - idle.length);
        idle.push(...(await Promise.all(Array.from({ length: count }, () => ExecClient.open(ask, 'echo')))));
      }
    },
    /** How many of them still answer. */
    async aliveIdle(_nothing: undefined) {
      const answers = await Promise.all(idle.map((client) => client.ping()));
      return answers.filter(Boolean).length;
    },
    async closeIdle(_nothing: undefined) {
      for (const client of idle) client.close();
      await Promise.all(idle.splice(0).map((client) => client.closes()));
    },
  };
}

export type ExecHandlers = ReturnType<typeof execHandlers>;

if (import.meta.main) answerQuestions(execHandlers());
