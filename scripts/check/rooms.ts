// Reads the drawing of the workspaces in docs/architecture.md.
//
// Each room is a line of the first code block under "Rooms": its folder, then, behind an arrow, what it may import.
//
//   apps/
//     gateway/      -> transport, kubernetes. Words after the first full stop are for people
//     leaklab/      -> nothing of ours
//     transport/    -> undici only            (and no other package from outside)

/** A workspace of the drawing. `arrows` has the folders it may import; 'anything' is for suites that are tests themselves. */
export interface Room {
  readonly folder: string;
  readonly arrows: ReadonlySet<string> | 'anything';
  /** When set, the one package from outside that it may depend on. */
  readonly onlyExternal: string | undefined;
}

/** Folder to room. Throws when the drawing is missing or points at a room that it does not have. */
export function readRooms(document: string): ReadonlyMap<string, Room> {
  const block = /^## Rooms$[\s\S]*?^```\n([\s\S]*?)^```$/m.exec(document)?.[1];
  if (block === undefined) throw new Error('docs/architecture.md has no code block under "## Rooms"');
  const drawn = new Map<string, string | undefined>();
  let parent = '';
  for (const line of block.split('\n')) {
    const [, indent, name, rest] = /^( *)([\w.-]+(?:\/[\w.-]+)*)\/(?:\s+(.*))?$/.exec(line) ?? [];
    // Anything else goes on with the words of the line above.
    if (indent === undefined || name === undefined || indent.length > 2) continue;
    if (indent === '') parent = rest === undefined ? `${name}/` : '';
    if (indent === '' && rest === undefined) continue;
    drawn.set(`${parent}${name}`, /->\s*([^.:;(]*)/.exec(rest ?? '')?.[1]?.trim());
  }
  const rooms = new Map<string, Room>();
  for (const [folder, arrow] of drawn) rooms.set(folder, readRoom(folder, arrow, [...drawn.keys()]));
  return rooms;
}

function readRoom(folder: string, arrow: string | undefined, folders: readonly string[]): Room {
  if (arrow === undefined || arrow === 'nothing of ours')
    return { folder, arrows: new Set(), onlyExternal: undefined };
  if (arrow === 'anything of ours') return { folder, arrows: 'anything', onlyExternal: undefined };
  const arrows = new Set<string>();
  let onlyExternal: string | undefined;
  for (const word of arrow.split(/\s*,\s*|\s+and\s+/)) {
    const external = /^(\S+) only$/.exec(word)?.[1];
    const target = folders.find((candidate) => candidate === word || candidate.endsWith(`/${word}`));
    if (external !== undefined) onlyExternal = external;
    else if (target === undefined)
      throw new Error(`the drawing has an arrow from ${folder} to "${word}", which it does not draw`);
    else arrows.add(target);
  }
  return { folder, arrows, onlyExternal };
}
