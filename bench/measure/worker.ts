/**
 * Programs of our own in processes of their own, asked over Node's message channel. The load must not be made in the process that
 * measures, nor the answers in the one that asks for them.
 */

import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';

interface Question {
  readonly id: number;
  readonly name: string;
  readonly input: unknown;
}

type Answer =
  | { readonly id: number; readonly output: unknown }
  | { readonly id: number; readonly error: string };

/** What a program can be asked, by name: each question has one input and one answer, both plain data. */
export type Questions = Record<string, (input: never) => unknown>;

export class Worker<Handlers extends Questions> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #exited: Promise<unknown>;
  /** Each leaves with its answer, or with the process. */
  readonly #open = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;

  /** @param program path of a file that calls `answerQuestions` with these handlers */
  constructor(program: string) {
    this.#child = fork(program, {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      serialization: 'advanced',
    });
    this.#exited = once(this.#child, 'exit');
    this.#child.on('message', (answer: Answer) => this.#settle(answer));
    this.#child.on('exit', () => {
      for (const { reject } of this.#open.values()) reject(new Error(`${program} has ended`));
      this.#open.clear();
    });
  }

  ask<Name extends keyof Handlers & string>(
    name: Name,
    input: Parameters<Handlers[Name]>[0],
  ): Promise<Awaited<ReturnType<Handlers[Name]>>> {
    this.#asked += 1;
    const id = this.#asked;
    const answer = Promise.withResolvers<unknown>();
    this.#open.set(id, answer);
    const question: Question = { id, name, input };
    this.#child.send(question);
    return answer.promise as Promise<Awaited<ReturnType<Handlers[Name]>>>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGKILL');
      await this.#exited;
    }
  }

  #settle(answer: Answer): void {
    const open = this.#open.get(answer.id);
    this.#open.delete(answer.id);
    if ('error' in answer) open?.reject(new Error(answer.error));
    else open?.resolve(answer.output);
  }
}

/** For the program itself: answers until its parent is gone. */
export function answerQuestions(handlers: Questions): void {
  const answer = async ({ id, name, input }: Question): Promise<Answer> => {
    try {
      const handler = handlers[name];
      if (handler === undefined) throw new Error(`nobody answers ${name}`);
      return { id, output: await handler(input as never) };
    } catch (error) {
      return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
    }
  };
  process.on('message', (question: Question) => {
    void answer(question).then((message) => process.send?.(message));
  });
  // The parent owns us; without it there is nobody to measure for.
  process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}
