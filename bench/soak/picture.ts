/** The picture beside the verdict: each sample a dot, and the line through the second half. Plain SVG for light and dark readers. */

import type { SoakResults } from './results.ts';
import { count, judge, operationsOf, secondHalf } from './verdict.ts';
import type { Finding } from './verdict.ts';

const width = 760;
const left = 70;
const right = width - 20;
const plotHeight = 130;
const plotGap = 56;

const style = `
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600 }
  .quiet { fill: #59636e; font-size: 12px }
  .axis { stroke: #d1d9e0 }
  .dot { fill: #0969da }
  .line { stroke: #bc4c00; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .quiet { fill: #9198a1 }
    .axis { stroke: #3d444d }
    .dot { fill: #4493f8 }
    .line { stroke: #f0883e }
  }`;

export function renderSoakPicture(results: SoakResults): string {
  const { findings } = judge(results);
  const height = 10 + findings.length * (plotHeight + plotGap);
  const title = 'Memory, handles and sockets of a pool under load, over the operations';
  const plots = findings.map((finding, index) => plot(results, finding, 30 + index * (plotHeight + plotGap)));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
<title>${title}</title>
<style>${style}
</style>
${plots.join('\n')}
</svg>
`;
}

function plot({ samples }: SoakResults, { measured, line }: Finding, top: number): string {
  const bottom = top + plotHeight;
  const values = samples.map((sample) => sample[measured.name]);
  const most = Math.max(...values, 1) * 1.1;
  const operations = Math.max(...samples.map(operationsOf));
  const x = (value: number): string => (left + ((right - left) * value) / operations).toFixed(1);
  const y = (value: number): string => (bottom - (plotHeight * value) / most).toFixed(1);
  const half = secondHalf(samples).map(operationsOf);
  const [from = 0, to = 0] = [half[0], half.at(-1)];
  const at = (value: number): number => line.offset + (line.slope * value) / 1_000;
  return [
    `<text class="title" x="10" y="${top - 12}">${measured.title}</text>`,
    `<text class="quiet" x="${right}" y="${top - 12}" text-anchor="end">${measured.unit}</text>`,
    `<line class="axis" x1="${left}" y1="${bottom}" x2="${right}" y2="${bottom}"/>`,
    `<line class="axis" x1="${left}" y1="${top}" x2="${left}" y2="${bottom}"/>`,
    `<text class="quiet" x="${left - 6}" y="${y(Math.max(...values))}" text-anchor="end">${count(Math.max(...values))}</text>`,
    `<text class="quiet" x="${left - 6}" y="${bottom}" text-anchor="end">0</text>`,
    `<text class="quiet" x="${right}" y="${bottom + 16}" text-anchor="end">${count(operations)} operations</text>`,
    ...samples.map(
      (sample) =>
        `<circle class="dot" cx="${x(operationsOf(sample))}" cy="${y(sample[measured.name])}" r="2"/>`,
    ),
    `<line class="line" x1="${x(from)}" y1="${y(at(from))}" x2="${x(to)}" y2="${y(at(to))}"/>`,
  ].join('\n');
}
