import type { CompletionFlag, CompletionTree } from './tree.ts';

export function zshCompletion({ program, flags, commands }: CompletionTree): string {
  const described = commands
    .map(({ name, description }) => `    ${quote(`${name}:${description}`)}`)
    .join('\n');
  const branches = commands.map(({ name, flags: own, words }) => {
    const positional = words.length > 0 ? [quote(`1:${name}:(${words.join(' ')})`)] : [];
    return `        ${name}) _arguments ${[...positional, ...own.flatMap(describeFlag)].join(' ')} ;;`;
  });
  return `#compdef ${program}
# zsh completion for ${program}; put it on your fpath as _${program}, or: source <(${program} completion zsh)
_${program}() {
  local -a commands
  local state line
  commands=(
${described}
  )
  _arguments -C ${flags.flatMap(describeFlag).join(' ')} '1: :->command' '*:: :->arguments'
  case "$state" in
    command) _describe command commands ;;
    arguments)
      case "$line[1]" in
${branches.join('\n')}
      esac
      ;;
  esac
}
if [ "$funcstack[1]" = _${program} ]; then _${program} "$@"; else compdef _${program} ${program}; fi
`;
}

function describeFlag({ names, description, value }: CompletionFlag): string[] {
  const text = description.replaceAll(/[[\]:]/g, ' ');
  const argument =
    value === 'none'
      ? ''
      : value === 'file'
        ? ':file:_files'
        : value === 'any'
          ? ': :'
          : `: :(${value.join(' ')})`;
  return names.map((name) => quote(`${name}[${text}]${argument}`));
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
