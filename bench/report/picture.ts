/**
 * The picture beside the tables: a group of bars a case, in the unit of the case, shorter is better. Plain SVG that follows the
 * reader's light or dark scheme; it is shown as an image, so its colours are its own.
 */

import { median } from './median.ts';
import type { CaseResult, Results } from './results.ts';
import { costOf, costUnit, ratioOf } from './statistics.ts';

const width = 760;
const barsFrom = 220;
const barsTo = width - 90;
const rowHeight = 22;
const headHeight = 34;
const gap = 18;

const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .quiet { fill: #59636e }
  .ours { fill: #0969da }
  .variant { fill: #80b6ee }
  .peer { fill: #8c959f }
  .limit { stroke: #bc4c00; stroke-width: 1.5; stroke-dasharray: 4 3 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .ours { fill: #4493f8 }
    .variant { fill: #2a5b96 }
    .peer { fill: #656c76 }
    .limit { stroke: #f0883e }
  }`;

export function renderPicture({ cases }: Results): string {
  const parts: string[] = [];
  let top = 10;
  for (const result of cases) {
    parts.push(group(result, top));
    top += headHeight + result.rows.length * rowHeight + gap;
  }
  const title =
    'What a request or an open watch costs the gateway, kubectl proxy and nginx. Shorter is better.';
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${top}" viewBox="0 0 ${width} ${top}" role="img" aria-label="${title}">
<title>${title}</title>
<style>${style}
</style>
${parts.join('\n')}
</svg>
`;
}

function group(result: CaseResult, top: number): string {
  const costs = result.rows.map(({ samples }) => median(samples.map(costOf)));
  const limit = limitOf(result);
  const longest = Math.max(...costs, limit ?? 0);
  const scale = (cost: number): number => ((barsTo - barsFrom) * cost) / longest;
  const [first] = result.rows.flatMap(({ samples }) => samples);
  const unit = first === undefined ? '' : costUnit(first);
  const lines = [
    `<text class="title" x="10" y="${top + 14}">${escape(result.title)}</text>`,
    `<text class="quiet" x="${width - 10}" y="${top + 14}" text-anchor="end">${unit}</text>`,
  ];
  for (const [index, { contestant }] of result.rows.entries()) {
    const cost = costs[index] ?? 0;
    const y = top + headHeight + index * rowHeight;
    const x = barsFrom + scale(cost);
    lines.push(
      `<text x="10" y="${y + 4}">${escape(contestant)}</text>`,
      `<rect class="${kindOf(contestant)}" x="${barsFrom}" y="${y - 7}" width="${scale(cost).toFixed(1)}" height="14" rx="2"/>`,
      `<text class="quiet" x="${(x + 6).toFixed(1)}" y="${y + 4}">${cost.toFixed(cost < 100 ? 1 : 0)}</text>`,
    );
  }
  if (limit !== undefined) {
    const x = (barsFrom + scale(limit)).toFixed(1);
    const bottom = top + headHeight + result.rows.length * rowHeight - 10;
    lines.push(`<line class="limit" x1="${x}" y1="${top + headHeight - 12}" x2="${x}" y2="${bottom}"/>`);
  }
  return lines.join('\n');
}

/** Where the bar of the target must end, in the unit of the case. */
function limitOf(result: CaseResult): number | undefined {
  const { target } = result;
  const peer = result.rows.find(({ contestant }) => contestant === target?.to);
  if (
    target === undefined ||
    peer === undefined ||
    ratioOf(result, target.contestant, target.to) === undefined
  ) {
    return undefined;
  }
  return target.ratio * median(peer.samples.map(costOf));
}

function kindOf(contestant: string): 'ours' | 'variant' | 'peer' {
  if (contestant === 'gateway') return 'ours';
  return contestant.startsWith('gateway') ? 'variant' : 'peer';
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
