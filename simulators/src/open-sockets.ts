/** The sockets of this process as the kernel sees them, which no library can forget to count. Linux only; empty elsewhere. */

import { readFileSync, readdirSync, readlinkSync } from 'node:fs';

/** States of /proc/net/tcp, from the kernel's include/net/tcp_states.h; the first is 1. */
const tcpStates = [
  'ESTABLISHED',
  'SYN_SENT',
  'SYN_RECV',
  'FIN_WAIT1',
  'FIN_WAIT2',
  'TIME_WAIT',
  'CLOSE',
  'CLOSE_WAIT',
  'LAST_ACK',
  'LISTEN',
  'CLOSING',
];

/** Inode numbers of the sockets among this process's descriptors. */
export function openSocketInodes(): ReadonlySet<string> {
  const inodes = new Set<string>();
  for (const descriptor of listed('/proc/self/fd')) {
    const inode = /^socket:\[(\d+)\]$/.exec(linkTarget(`/proc/self/fd/${descriptor}`))?.[1];
    if (inode !== undefined) inodes.add(inode);
  }
  return inodes;
}

/** `TCP 127.0.0.1:40000 -> 127.0.0.1:50000 CLOSE_WAIT` for each of these that is TCP; the others by their number alone. */
export function describeSockets(inodes: Iterable<string>): readonly string[] {
  const known = new Map<string, string>();
  for (const table of ['/proc/self/net/tcp', '/proc/self/net/tcp6']) {
    for (const line of contents(table).split('\n').slice(1)) {
      const [, local, remote, state, , , , , , inode] = line.trim().split(/\s+/);
      if (local === undefined || remote === undefined || state === undefined || inode === undefined) continue;
      const name = tcpStates[Number.parseInt(state, 16) - 1] ?? state;
      known.set(inode, `TCP ${address(local)} -> ${address(remote)} ${name}`);
    }
  }
  return Array.from(inodes, (inode) => known.get(inode) ?? `socket ${inode}`);
}

/** `0100007F:1F90` is 127.0.0.1:8080: each word of the address has its lowest byte first, as on x86 and ARM. */
function address(text: string): string {
  const [host = '', port = ''] = text.split(':');
  const words = (host.match(/.{8}/g) ?? []).map((word) => Buffer.from(word, 'hex').swap32());
  const [first] = words;
  const readable =
    words.length === 1 && first !== undefined
      ? first.join('.')
      : `[${(Buffer.concat(words).toString('hex').match(/.{4}/g) ?? []).join(':')}]`;
  return `${readable}:${Number.parseInt(port, 16)}`;
}

// A descriptor may be closed between the listing and the look at it, and other systems have none of these files.

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function linkTarget(file: string): string {
  try {
    return readlinkSync(file);
  } catch {
    return '';
  }
}

function contents(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
