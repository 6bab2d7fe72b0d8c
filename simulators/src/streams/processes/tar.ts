/** `tar`, for what kubectl cp asks of it: `tar cf - path ...` and `tar xmf - -C directory`, and a list of what is in an archive. */

import { BytePipe, type ByteSource } from '../byte-pipe.ts';
import { resolvePath } from './file-tree.ts';
import { print, type ProcessContext, type Program } from './program.ts';
import { encodeTarHeader, tarEnd, tarPadding, TarReader, type TarEntry } from './tar-format.ts';

interface TarOptions {
  readonly action: 'create' | 'extract' | 'list';
  readonly file: string;
  readonly directory: string;
  readonly paths: readonly string[];
}

const chunkBytes = 65_536;

export const tar: Program = async (context) => {
  const options = parseOptions(context);
  if (options === undefined) {
    await print(context.stderr, 'tar: You must specify one of the options -c, -t, -x\n');
    return 2;
  }
  switch (options.action) {
    case 'create':
      return create(context, options);
    case 'extract':
      return extract(context, options);
    case 'list':
      return list(context, options);
  }
};

async function create(context: ProcessContext, { directory, paths }: TarOptions): Promise<number> {
  const { files, stderr, stdout } = context;
  let code = 0;
  let told = false;
  for (const path of paths) {
    const root = resolvePath(directory, path);
    if (files.get(root) === undefined) {
      await print(stderr, `tar: ${path}: Cannot stat: No such file or directory\n`);
      code = 2;
      continue;
    }
    if (path.startsWith('/') && !told) {
      await print(stderr, "tar: Removing leading `/' from member names\n");
      told = true;
    }
    await add(context, root, path.replace(/^\/+/, '').replace(/\/$/, '') || '.');
  }
  await stdout.write(tarEnd);
  if (code !== 0) await print(stderr, 'tar: Exiting with failure status due to previous errors\n');
  return code;
}

async function add(context: ProcessContext, path: string, name: string): Promise<void> {
  const { files, stdout } = context;
  const entry = files.get(path);
  if (entry === undefined) return;
  const { kind, content, mode, modifiedAt } = entry;
  const shown = kind === 'directory' ? `${name}/` : name;
  await stdout.write(encodeTarHeader({ name: shown, kind, size: content.length, mode, modifiedAt }));
  for (let offset = 0; offset < content.length; offset += chunkBytes) {
    await stdout.write(content.subarray(offset, offset + chunkBytes));
  }
  await stdout.write(Buffer.alloc(tarPadding(content.length)));
  if (kind === 'directory')
    for (const each of files.list(path)) await add(context, `${path}/${each}`, `${name}/${each}`);
}

async function extract(context: ProcessContext, options: TarOptions): Promise<number> {
  const { files } = context;
  if (files.get(options.directory)?.kind !== 'directory') {
    await print(context.stderr, `tar: ${options.directory}: Cannot open: No such file or directory\n`);
    return 2;
  }
  let current: { readonly entry: TarEntry; readonly content: Buffer; filled: number } | undefined;
  const reader = new TarReader();
  const source = archive(context, options);
  for (let chunk = await source.read(); chunk !== undefined; chunk = await source.read()) {
    for (const event of reader.push(chunk)) {
      if (event.type === 'data') {
        if (current !== undefined) current.filled += event.data.copy(current.content, current.filled);
      } else {
        const { entry } = event;
        // Reserved at once, so that what is too much fails before it is there.
        if (entry.kind === 'file') files.reserve(entry.name, entry.size);
        if (entry.kind === 'directory') files.makeDirectory(pathIn(options, entry));
        current = { entry, content: Buffer.alloc(entry.kind === 'file' ? entry.size : 0), filled: 0 };
      }
      if (current?.entry.kind === 'file' && current.filled === current.entry.size) {
        const path = pathIn(options, current.entry);
        files.makeDirectory(resolvePath(path, '..'));
        files.write(path, current.content, current.entry);
        current = undefined;
      }
    }
  }
  if (current?.entry.kind === 'file') {
    await print(
      context.stderr,
      'tar: Unexpected EOF in archive\ntar: Error is not recoverable: exiting now\n',
    );
    return 2;
  }
  return 0;
}

async function list(context: ProcessContext, options: TarOptions): Promise<number> {
  const reader = new TarReader();
  const source = archive(context, options);
  for (let chunk = await source.read(); chunk !== undefined; chunk = await source.read()) {
    for (const event of reader.push(chunk)) {
      if (event.type === 'entry') await print(context.stdout, `${event.entry.name}\n`);
    }
  }
  return 0;
}

/** A name cannot lead out of the directory. */
function pathIn({ directory }: TarOptions, { name }: TarEntry): string {
  return resolvePath(directory, `.${resolvePath('/', name)}`);
}

function archive({ stdin, files, directory }: ProcessContext, { file }: TarOptions): ByteSource {
  if (file === '-') return stdin;
  const content = files.read(resolvePath(directory, file));
  const pipe = new BytePipe(content.length);
  void pipe.write(content).then(async () => pipe.end());
  return pipe;
}

/** The old bundle of letters first, or options with dashes. */
function parseOptions({ args, directory: start }: ProcessContext): TarOptions | undefined {
  let action: TarOptions['action'] | undefined;
  let file = '-';
  let directory = start;
  const paths: string[] = [];
  const rest = args.slice(1);
  for (let index = 0; index < rest.length; index += 1) {
    const arg = rest[index] ?? '';
    if (arg.startsWith('--')) continue;
    if (arg === '-' || (index > 0 && !arg.startsWith('-'))) {
      paths.push(arg);
      continue;
    }
    for (const letter of arg.replace(/^-/, '')) {
      if (letter === 'c') action = 'create';
      else if (letter === 'x') action = 'extract';
      else if (letter === 't') action = 'list';
      else if (letter === 'f') file = rest[(index += 1)] ?? '-';
      else if (letter === 'C') directory = resolvePath(start, rest[(index += 1)] ?? '.');
    }
  }
  return action === undefined ? undefined : { action, file, directory, paths };
}
