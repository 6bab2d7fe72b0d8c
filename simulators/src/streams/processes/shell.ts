/** `sh`: runs a script (`-c`), or what it reads line by line, with a prompt on a terminal. */

import { BytePipe, readAll, type ByteSink, type ByteSource } from '../byte-pipe.ts';
import { FileError, resolvePath } from './file-tree.ts';
import { LineSource } from './line-source.ts';
import { runProgram } from './process-end.ts';
import { print, programNamed, type ProcessContext, type Program } from './program.ts';
import {
  parseScript,
  ShellSyntaxError,
  type Pipeline,
  type Redirection,
  type ShellCommand,
  type WordPart,
} from './shell-syntax.ts';

/** As of a command that is not found, or of a script that cannot be read. */
const exitCode = { notFound: 127, syntaxError: 2, interrupted: 130 } as const;

export const shell: Program = async (context) => {
  const state = new ShellState(context);
  const script = context.args.indexOf('-c');
  if (script >= 0) {
    await state.run(context.args[script + 1] ?? '', new LineSource(context.stdin));
    return state.code;
  }
  const input = new LineSource(context.stdin);
  // A line that is given up is followed by a new prompt.
  using _interrupts = context.terminal?.onInterrupt(() => void state.prompt().catch(() => {}));
  for (;;) {
    await state.prompt();
    const line = await input.readLine();
    if (line === undefined || context.signal.aborted) break;
    await state.run(line, input);
    if (state.exited) break;
  }
  return state.code;
};

class ShellState {
  readonly #context: ProcessContext;
  readonly #variables = new Map<string, string>();
  #directory: string;
  #code = 0;
  #exited = false;

  constructor(context: ProcessContext) {
    this.#context = context;
    this.#directory = context.directory;
    this.#variables.set('HOSTNAME', context.hostname).set('HOME', '/root').set('PATH', '/bin');
  }

  get code(): number {
    return this.#code;
  }

  get exited(): boolean {
    return this.#exited;
  }

  async prompt(): Promise<void> {
    if (this.#context.terminal !== undefined) await print(this.#context.stderr, `${this.#directory} # `);
  }

  async run(script: string, stdin: LineSource): Promise<void> {
    try {
      for (const pipeline of parseScript(script)) {
        if (this.#exited || this.#context.signal.aborted) return;
        if (pipeline.runs === 'after-success' && this.#code !== 0) continue;
        if (pipeline.runs === 'after-failure' && this.#code === 0) continue;
        this.#code = await this.#runPipeline(pipeline, stdin);
      }
    } catch (error) {
      if (!(error instanceof ShellSyntaxError)) throw error;
      await print(this.#context.stderr, `sh: ${error.message}\n`);
      this.#code = exitCode.syntaxError;
    }
  }

  async #runPipeline({ commands }: Pipeline, input: LineSource): Promise<number> {
    const interrupted = new AbortController();
    using _interrupts = this.#context.terminal?.onInterrupt(() => interrupted.abort());
    const signal = AbortSignal.any([this.#context.signal, interrupted.signal]);
    const codes: Promise<number>[] = [];
    using lent = input.lend();
    let stdin: ByteSource = lent;
    for (const [index, command] of commands.entries()) {
      const next = index === commands.length - 1 ? undefined : new BytePipe();
      const context: ProcessContext = {
        ...this.#context,
        directory: this.#directory,
        stdin,
        stdout: next ?? this.#context.stdout,
        signal,
      };
      codes.push(
        this.#runMember(command, context, { alone: commands.length === 1, first: index === 0, next }),
      );
      stdin = next ?? lent;
    }
    const [code = 0] = (await Promise.all(codes)).toReversed();
    return interrupted.signal.aborted ? exitCode.interrupted : code;
  }

  async #runMember(
    command: ShellCommand,
    context: ProcessContext,
    place: { readonly alone: boolean; readonly first: boolean; readonly next: BytePipe | undefined },
  ): Promise<number> {
    try {
      return await this.#runCommand(command, context, place.alone);
    } catch (error) {
      if (!(error instanceof FileError)) throw error;
      await print(context.stderr, `sh: ${error.message}\n`);
      return 1;
    } finally {
      await place.next?.end();
      // What it has left unread is of no use to the one before it.
      if (!place.first && context.stdin instanceof BytePipe) context.stdin.close();
    }
  }

  /** `alone`: it may change the shell itself, which the commands of a pipeline cannot. */
  async #runCommand(
    { words, redirections }: ShellCommand,
    context: ProcessContext,
    alone: boolean,
  ): Promise<number> {
    const args = words.map((word) => this.#expand(word));
    const [name = ''] = args;
    const built = this.#builtIn(args, alone);
    if (built !== undefined) return built;
    await using redirected = new Redirected(context);
    for (const each of redirections) redirected.add(each, this.#expand(each.to));
    const program = programNamed(context.programs, name);
    if (program === undefined) {
      await print(redirected.stderr, `sh: ${name}: not found\n`);
      return exitCode.notFound;
    }
    const { stdin, stdout, stderr } = redirected;
    return await runProgram(program, { ...context, args, stdin, stdout, stderr });
  }

  #builtIn(args: readonly string[], alone: boolean): number | undefined {
    const [name = '', argument] = args;
    const assignment = /^(?<variable>[A-Za-z_]\w*)=(?<value>[^]*)$/.exec(name)?.groups;
    if (assignment !== undefined && args.length === 1) {
      this.#variables.set(assignment['variable'] ?? '', assignment['value'] ?? '');
      return 0;
    }
    switch (name) {
      case 'exit':
        if (alone) this.#exited = true;
        return argument === undefined ? this.#code : Number(argument) & 0xff;
      case 'cd': {
        const directory = resolvePath(this.#directory, argument ?? '/root');
        if (this.#context.files.get(directory)?.kind !== 'directory') return 1;
        if (alone) this.#directory = directory;
        return 0;
      }
      case ':':
        return 0;
      default:
        return undefined;
    }
  }

  #expand(word: readonly WordPart[]): string {
    return word.map((part) => ('text' in part ? part.text : this.#valueOf(part.variable))).join('');
  }

  #valueOf(variable: string): string {
    if (variable === '?') return String(this.#code);
    return variable === 'PWD' ? this.#directory : (this.#variables.get(variable) ?? '');
  }
}

/** The ends of one command, some of which are files. They are written when the command has ended. */
class Redirected implements AsyncDisposable {
  readonly #context: ProcessContext;
  readonly #written: (() => Promise<void>)[] = [];
  stdin: ByteSource;
  stdout: ByteSink;
  stderr: ByteSink;

  constructor(context: ProcessContext) {
    this.#context = context;
    this.stdin = context.stdin;
    this.stdout = context.stdout;
    this.stderr = context.stderr;
  }

  add({ from, mode }: Redirection, to: string): void {
    if (mode === 'join') {
      this.stderr = this.stdout;
      return;
    }
    const { files, directory } = this.#context;
    const path = resolvePath(directory, to);
    if (mode === 'read') {
      this.stdin = bytesOf(path === '/dev/null' ? Buffer.alloc(0) : files.read(path));
      return;
    }
    const pipe = new BytePipe();
    const before = mode === 'append' && files.get(path)?.kind === 'file' ? files.read(path) : Buffer.alloc(0);
    const content = readAll(pipe);
    this.#written.push(async () => {
      await pipe.end();
      const written = await content;
      if (path !== '/dev/null') files.write(path, Buffer.concat([before, written]));
    });
    if (from === 2) this.stderr = pipe;
    else this.stdout = pipe;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const write of this.#written) await write();
  }
}

function bytesOf(content: Buffer): ByteSource {
  let rest: Buffer | undefined = content;
  return {
    read: async () => {
      const all = rest;
      rest = undefined;
      return all;
    },
  };
}
