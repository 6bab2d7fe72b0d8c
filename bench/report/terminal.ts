/** For the terminal: a line as each sample comes in, and a table at the end. */

import { median } from './median.ts';
import type { Results, Sample } from './results.ts';
import { isSessionSample, sessionColumns } from './session-samples.ts';
import { costOf, costUnit, limitedCost, ratioOf } from './statistics.ts';

export function sampleLine(result: string, contestant: string, round: number, sample: Sample): string {
  const cost = `${costOf(sample).toFixed(1).padStart(8)} ${costUnit(sample)}`;
  const rest = isSessionSample(sample)
    ? sessionColumns([sample])
        .map((column) => column.join(' '))
        .join(', ')
    : sample.kind === 'requests'
      ? `${(sample.requests / sample.seconds).toFixed(0).padStart(6)} requests/s, p99 ${sample.p99Ms.toFixed(1)} ms`
      : `${sample.delivered} of ${sample.streams} alive`;
  return `${result.padEnd(14)} round ${round + 1}  ${contestant.padEnd(28)}${cost}, ${rest}`;
}

export function summaryTable(results: Results): string {
  const lines: string[] = [];
  for (const result of results.cases) {
    lines.push(result.title);
    for (const { contestant, samples } of result.rows) {
      const [first] = samples;
      if (first === undefined) continue;
      const cost = median(samples.map(costOf)).toFixed(1).padStart(9);
      const ratios = ['gateway, baseline', 'kubectl proxy', 'nginx'].flatMap((peer) => {
        const ratio = contestant === peer ? undefined : ratioOf(result, contestant, peer);
        return ratio === undefined ? [] : [`${ratio.median.toFixed(2)} of ${peer}`];
      });
      lines.push(`  ${contestant.padEnd(28)}${cost} ${costUnit(first)}  ${ratios.join(', ')}`);
    }
    const target = result.target;
    const reached = target === undefined ? undefined : ratioOf(result, target.contestant, target.to);
    if (target !== undefined && reached !== undefined) {
      const verdict = reached.median <= target.ratio ? 'held' : 'MISSED';
      lines.push(
        `  target: ${target.contestant} at most ${target.ratio} of ${target.to}: ${reached.median.toFixed(2)}, ${verdict}`,
      );
    }
    const { limit } = result;
    const need = limit === undefined ? undefined : limitedCost(result, limit.contestant);
    if (limit !== undefined && need !== undefined) {
      const verdict = need <= limit.most ? 'held' : 'MISSED';
      lines.push(`  limit: ${limit.contestant} at most ${limit.most}: ${need.toFixed(1)}, ${verdict}`);
    }
    lines.push('');
  }
  return lines.join('\n');
}
