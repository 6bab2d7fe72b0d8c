import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface RunningDemo extends AsyncDisposable {
  readonly gatewayUrl: string;
  readonly adminUrl: string;
  /** Everything that it has printed, both streams. */
  readonly output: () => string;
  /** Resolves once `text` was printed, or everything has been. */
  readonly printed: (text: string) => Promise<void>;
  readonly pid: number;
  readonly kill: (signal: NodeJS.Signals) => void;
  readonly exit: Promise<Exit>;
}

/** Starts the demo as `npm start` does and resolves when it has said what to try, or has ended. Ports are free ones. */
export async function startDemo(folder: string, ...more: string[]): Promise<RunningDemo> {
  const child = spawn(
    process.execPath,
    [
      '--conditions=@roundhouse/source',
      main,
      '--port',
      '0',
      '--admin-port',
      '0',
      '--folder',
      folder,
      ...more,
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  const waiting: (() => void)[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      for (const look of waiting) look();
    });
  }
  const exit = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
  const printed = async (text: string): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    waiting.push(() => output.includes(text) && resolve());
    waiting.at(-1)?.();
    await Promise.race([promise, exit]);
  };
  await printed('Ctrl-C stops it');
  return {
    gatewayUrl: /gateway +(\S+)/.exec(output)?.[1] ?? '',
    adminUrl: /admin +(\S+)/.exec(output)?.[1] ?? '',
    output: () => output,
    printed,
    pid: child.pid ?? 0,
    kill: (signal) => child.kill(signal),
    exit,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await exit;
    },
  };
}

export interface Folder extends AsyncDisposable {
  readonly path: string;
}

/** A folder for a demo that does not exist yet, in one that does and is removed. */
export async function openFolder(): Promise<Folder> {
  const parent = await mkdtemp(join(tmpdir(), 'roundhouse-demo-'));
  return { path: join(parent, 'demo'), [Symbol.asyncDispose]: () => rm(parent, { recursive: true }) };
}
