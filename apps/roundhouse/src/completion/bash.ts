import type { CompletionFlag, CompletionTree } from './tree.ts';

/** A completion script for bash 4 and newer; needs nothing of bash-completion. */
export function bashCompletion({ program, flags, commands }: CompletionTree): string {
  const names = commands.map(({ name }) => name).join(' ');
  const branches = commands.map(
    ({ name, flags: own, words }) => `    ${name})
      case "$previous" in
${own.map(valueBranch).join('')}      esac
      words="${[...words, ...flagNames(own)].join(' ')}"
      ;;
`,
  );
  return `# bash completion for ${program}: source <(${program} completion bash)
_${program}() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="" words="" index
  for ((index = 1; index < COMP_CWORD; index++)); do
    case " ${names} " in
      *" \${COMP_WORDS[index]} "*) command="\${COMP_WORDS[index]}"; break ;;
    esac
  done
  case "$command" in
${branches.join('')}    *) words="${names} ${flagNames(flags).join(' ')}" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -F _${program} ${program}
`;
}

/** After a flag that takes a value only such values make sense. */
function valueBranch({ names, value }: CompletionFlag): string {
  if (value === 'none') return '';
  const pattern = names.join('|');
  if (value === 'file') return `        ${pattern}) COMPREPLY=($(compgen -f -- "$current")); return ;;\n`;
  if (value === 'any') return `        ${pattern}) return ;;\n`;
  return `        ${pattern}) COMPREPLY=($(compgen -W "${value.join(' ')}" -- "$current")); return ;;\n`;
}

function flagNames(flags: readonly CompletionFlag[]): string[] {
  return flags.flatMap(({ names }) => names.filter((name) => name.startsWith('--')));
}
