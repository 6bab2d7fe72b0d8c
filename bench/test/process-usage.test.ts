import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { parseCpuTicks, parseStatusKib, processUsage } from '../measure/process-usage.ts';

test('the name of a process may have blanks and brackets in it', () => {
  const stat = `42 (a) S 1 (b)) S 1 42 42 0 -1 4194304 100 0 0 0 123 45 6 7 20 0 1 0 100`;
  assert.deepEqual(parseCpuTicks(stat), { user: 123, system: 45 });
});

test('a line that is not there is an error and not nothing', () => {
  assert.equal(parseStatusKib('VmHWM:\t   2048 kB\n', 'VmHWM'), 2048);
  assert.throws(() => parseStatusKib('VmRSS:\t 1 kB\n', 'VmHWM'), /no VmHWM/);
  assert.throws(() => parseCpuTicks('42 (x) S 1'), /another form/);
});

test('what a child of the process does is counted with it', async () => {
  const busy = 'while (process.cpuUsage().user < 300_000); console.log("done"); setInterval(() => {}, 1000)';
  const child = spawn('sh', ['-c', `"${process.execPath}" -e '${busy}' & echo $!; wait`], { detached: true });
  try {
    let said = '';
    for await (const chunk of child.stdout) {
      said += String(chunk);
      if (said.includes('done')) break;
    }
    const { userMs, systemMs, peakKib } = await processUsage(child.pid ?? 0);
    assert.ok(userMs + systemMs >= 100, `${userMs + systemMs} ms of a shell whose child has used 300 ms`);
    assert.ok(peakKib > 10_000, `${peakKib} KiB is no Node.js`);
  } finally {
    process.kill(-(child.pid ?? 0), 'SIGKILL');
    await once(child, 'exit');
  }
});
