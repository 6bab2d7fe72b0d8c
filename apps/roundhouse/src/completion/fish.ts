import type { CompletionFlag, CompletionTree } from './tree.ts';

export function fishCompletion({ program, flags, commands }: CompletionTree): string {
  const lines = [
    `# fish completion for ${program}: ${program} completion fish | source`,
    `complete -c ${program} -f`,
  ];
  const names = commands.map(({ name }) => name).join(' ');
  const alone = `-n "not __fish_seen_subcommand_from ${names}"`;
  for (const { name, description } of commands) {
    lines.push(`complete -c ${program} ${alone} -a ${name} -d ${quote(description)}`);
  }
  for (const flag of flags) lines.push(`complete -c ${program} ${alone} ${describeFlag(flag)}`);
  for (const command of commands) {
    const inside = `-n "__fish_seen_subcommand_from ${command.name}"`;
    if (command.words.length > 0)
      lines.push(`complete -c ${program} ${inside} -a ${quote(command.words.join(' '))}`);
    for (const flag of command.flags) lines.push(`complete -c ${program} ${inside} ${describeFlag(flag)}`);
  }
  return `${lines.join('\n')}\n`;
}

function describeFlag({ names, description, value }: CompletionFlag): string {
  const parts = names.map((name) => (name.startsWith('--') ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  parts.push(`-d ${quote(description)}`);
  if (value === 'file') parts.push('-r -F');
  else if (value === 'any') parts.push('-x');
  else if (value !== 'none') parts.push(`-x -a ${quote(value.join(' '))}`);
  return parts.join(' ');
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
