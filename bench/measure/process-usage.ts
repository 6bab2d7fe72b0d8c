/**
 * What a process has used, as the kernel accounts it: the whole process with all of its threads, and its children too (nginx works
 * in one). Nothing is asked of the process itself, so no runtime counts differently from another.
 */

import { readFile, readdir, writeFile } from 'node:fs/promises';

export interface ProcessUsage {
  /** In user mode, of all threads. */
  readonly userMs: number;
  /** In the kernel on behalf of the process: for a proxy mostly its sockets. */
  readonly systemMs: number;
  /** In memory now. Pages that parent and child have in common count in both. */
  readonly residentKib: number;
  /** The most that was ever in memory. */
  readonly peakKib: number;
}

/** USER_HZ of proc(5): 100 on every Linux that Node.js has builds for. */
const ticksPerSecond = 100;
const msPerTick = 1000 / ticksPerSecond;

/** Of the process and everything below it. Throws when it is gone: a measurement of a dead process means nothing. */
export async function processUsage(pid: number): Promise<ProcessUsage> {
  const parts = await Promise.all((await tree(pid)).map(usageOfOne));
  const sum = (field: keyof ProcessUsage): number => parts.reduce((total, usage) => total + usage[field], 0);
  return {
    userMs: sum('userMs'),
    systemMs: sum('systemMs'),
    residentKib: sum('residentKib'),
    peakKib: sum('peakKib'),
  };
}

/** Fields 14 and 15 of /proc/PID/stat; the name in front may have blanks and brackets in it, so it is cut off at its end. */
export function parseCpuTicks(stat: string): { readonly user: number; readonly system: number } {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  if (!Number.isInteger(user) || !Number.isInteger(system))
    throw new Error('/proc/PID/stat has another form');
  return { user, system };
}

/** A line of /proc/PID/status that is in kB, which there means KiB. */
export function parseStatusKib(status: string, name: string): number {
  const digits = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1];
  if (digits === undefined) throw new Error(`/proc/PID/status has no ${name}`);
  return Number(digits);
}

async function usageOfOne(pid: number): Promise<ProcessUsage> {
  const [stat, status] = await Promise.all([
    readFile(`/proc/${pid}/stat`, 'utf8'),
    readFile(`/proc/${pid}/status`, 'utf8'),
  ]);
  const { user, system } = parseCpuTicks(stat);
  return {
    userMs: user * msPerTick,
    systemMs: system * msPerTick,
    residentKib: parseStatusKib(status, 'VmRSS'),
    peakKib: parseStatusKib(status, 'VmHWM'),
  };
}

/** Any thread may have been the one that forked. */
async function tree(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`);
  const lists = await Promise.all(
    threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => '')),
  );
  const children = lists.flatMap((list) =>
    list
      .split(' ')
      .filter((text) => text !== '')
      .map(Number),
  );
  return [pid, ...(await Promise.all(children.map(tree))).flat()];
}

/** Begins the peak of one process anew, at what it has now (proc(5), clear_refs). */
export async function resetPeak(pid: number): Promise<void> {
  await writeFile(`/proc/${pid}/clear_refs`, '5');
}
