import { Writable } from 'node:stream';
import { Terminal, type OutputStream } from '../src/output/terminal.ts';
import { runCommandLine } from '../src/run.ts';

class Captured extends Writable {
  text = '';
  isTTY = false;

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString();
    done();
  }
}

export interface Outcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
  readonly interactive?: boolean;
  /** Called with all of stdout so far, whenever something is written to it. */
  readonly onOutput?: (stdout: string) => void;
}

/** One run of the command line inside this process, with what it wrote. */
export async function runCaptured(args: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const stdout = new Captured();
  const stderr = new Captured();
  stdout.isTTY = options.interactive ?? false;
  const { onOutput } = options;
  if (onOutput !== undefined) {
    const write = stdout._write.bind(stdout);
    stdout._write = (chunk, encoding, done) => {
      write(chunk, encoding, done);
      onOutput(stdout.text);
    };
  }
  const exitCode = await runCommandLine(args, {
    terminal: new Terminal(stdout satisfies OutputStream, stderr),
    signal: options.signal ?? new AbortController().signal,
    env: options.env ?? {},
  });
  return { exitCode, stdout: stdout.text, stderr: stderr.text };
}
