/** The programs that every simulated container has. */

import { createHash } from 'node:crypto';
import type { ByteSource } from '../byte-pipe.ts';
import { resolvePath } from './file-tree.ts';
import { pause, print, type ProcessContext, type Program } from './program.ts';
import { shell } from './shell.ts';
import { tar } from './tar.ts';

const echo: Program = async ({ args, stdout }) => {
  const [flag, ...rest] = args.slice(1);
  if (flag === '-n') await print(stdout, rest.join(' '));
  else await print(stdout, `${args.slice(1).join(' ')}\n`);
  return 0;
};

const cat: Program = async (context) => {
  const { stdout } = context;
  for (const source of inputs(context)) {
    for (let bytes = await source.read(); bytes !== undefined; bytes = await source.read())
      await stdout.write(bytes);
  }
  return 0;
};

const sha256sum: Program = async (context) => {
  const names = operands(context);
  for (const [index, source] of inputs(context).entries()) {
    const hash = createHash('sha256');
    for (let bytes = await source.read(); bytes !== undefined; bytes = await source.read())
      hash.update(bytes);
    await print(context.stdout, `${hash.digest('hex')}  ${names[index] ?? '-'}\n`);
  }
  return 0;
};

/** `produce <bytes> [code]`: so many bytes, of a pattern that shows what is missing, and as fast as they are taken. */
const produce: Program = async ({ args, stdout }) => {
  const total = count(args[1]);
  for (let sent = 0; sent < total; sent += pattern.length) {
    await stdout.write(pattern.subarray(0, Math.min(pattern.length, total - sent)));
  }
  return count(args[2] ?? '0');
};

/** `spill <bytes> [code]`: ends at once, however much of its output is still on its way. */
const spill: Program = async ({ args, stdout }) => {
  const total = Math.min(count(args[1]), 8 * 1024 * 1024);
  for (let sent = 0; sent < total; sent += pattern.length) {
    void stdout.write(pattern.subarray(0, Math.min(pattern.length, total - sent))).catch(() => {});
  }
  return count(args[2] ?? '0');
};

/** `linger <seconds> [code]`: reads to the end of its input, and ends so long after it. */
const linger: Program = async (context) => {
  const { args, stdin } = context;
  while ((await stdin.read()) !== undefined);
  await pause(context, seconds(args[1]));
  return count(args[2] ?? '0');
};

const sleep: Program = async (context) => {
  await pause(context, seconds(context.args[1]));
  return 0;
};

const stty: Program = async ({ args, stdout, stderr, terminal }) => {
  if (args[1] !== 'size') return 1;
  if (terminal === undefined) {
    await print(stderr, 'stty: standard input: Not a tty\n');
    return 1;
  }
  await print(stdout, `${terminal.size.rows} ${terminal.size.columns}\n`);
  return 0;
};

/** `head -c N`. */
const head: Program = async ({ args, stdin, stdout }) => {
  let left = count(args[args.indexOf('-c') + 1]);
  while (left > 0) {
    const bytes = await stdin.read();
    if (bytes === undefined) break;
    await stdout.write(bytes.subarray(0, left));
    left -= bytes.length;
  }
  return 0;
};

/** `tail -c+N`: from the N-th byte on. */
const tail: Program = async ({ args, stdin, stdout }) => {
  let skip = Math.max(0, count(/^-c\+(\d+)$/.exec(args[1] ?? '')?.[1]) - 1);
  for (let bytes = await stdin.read(); bytes !== undefined; bytes = await stdin.read()) {
    await stdout.write(bytes.subarray(skip));
    skip = Math.max(0, skip - bytes.length);
  }
  return 0;
};

const wc: Program = async (context) => {
  let bytes = 0;
  for (const source of inputs(context)) {
    for (let chunk = await source.read(); chunk !== undefined; chunk = await source.read())
      bytes += chunk.length;
  }
  await print(context.stdout, `${bytes}\n`);
  return 0;
};

const test: Program = async ({ args, files, directory }) => {
  const [flag = '', operand = ''] = args.slice(1);
  const kind = files.get(resolvePath(directory, operand))?.kind;
  if (flag === '-d') return kind === 'directory' ? 0 : 1;
  if (flag === '-f') return kind === 'file' ? 0 : 1;
  return flag === '-e' && kind !== undefined ? 0 : 1;
};

const ls: Program = async ({ args, files, directory, stdout, stderr }) => {
  const path = resolvePath(directory, args[1] ?? '.');
  const entry = files.get(path);
  if (entry === undefined) {
    await print(stderr, `ls: ${args[1] ?? '.'}: No such file or directory\n`);
    return 1;
  }
  const names = entry.kind === 'directory' ? files.list(path) : [args[1] ?? ''];
  await print(stdout, names.map((name) => `${name}\n`).join(''));
  return 0;
};

const mkdir: Program = async ({ args, files, directory }) => {
  for (const path of args.slice(1).filter((each) => !each.startsWith('-')))
    files.makeDirectory(resolvePath(directory, path));
  return 0;
};

const rm: Program = async ({ args, files, directory }) => {
  for (const path of args.slice(1).filter((each) => !each.startsWith('-')))
    files.remove(resolvePath(directory, path));
  return 0;
};

const hostname: Program = async (context) => {
  await print(context.stdout, `${context.hostname}\n`);
  return 0;
};

export const basicPrograms: readonly (readonly [name: string, program: Program])[] = [
  ['echo', echo],
  ['cat', cat],
  ['sha256sum', sha256sum],
  ['produce', produce],
  ['spill', spill],
  ['linger', linger],
  ['sleep', sleep],
  ['stty', stty],
  ['head', head],
  ['tail', tail],
  ['wc', wc],
  ['tar', tar],
  ['sh', shell],
  ['bash', shell],
  ['test', test],
  ['ls', ls],
  ['mkdir', mkdir],
  ['rm', rm],
  ['hostname', hostname],
  ['true', async () => 0],
  ['false', async () => 1],
];

/** 32 KiB of lines of 16 bytes. Each begins with its number. */
const pattern = Buffer.from(
  Array.from({ length: 2048 }, (_, line) => `${String(line).padStart(7, '0')}_abcdefg\n`).join(''),
);

function operands({ args }: ProcessContext): readonly string[] {
  return args.slice(1).filter((arg) => !arg.startsWith('-'));
}

/** The files that are named, or the standard input. */
function inputs(context: ProcessContext): readonly ByteSource[] {
  const names = operands(context);
  if (names.length === 0) return [context.stdin];
  return names.map((name) => {
    let rest: Buffer | undefined = context.files.read(resolvePath(context.directory, name));
    return {
      read: async () => {
        const chunk = rest?.subarray(0, 65_536);
        rest = rest === undefined || rest.length <= 65_536 ? undefined : rest.subarray(65_536);
        return chunk;
      },
    };
  });
}

function count(text: string | undefined): number {
  if (text === undefined || !/^\d{1,15}$/.test(text)) throw new Error(`invalid number '${text ?? ''}'`);
  return Number(text);
}

/** In milliseconds. */
function seconds(text: string | undefined): number {
  if (text === undefined || !/^\d{1,6}(\.\d{1,3})?$/.test(text))
    throw new Error(`invalid time interval '${text ?? ''}'`);
  return Number(text) * 1000;
}
