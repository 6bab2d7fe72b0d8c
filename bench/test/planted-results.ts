import type { Results, Sample } from '../report/results.ts';

/** Two rounds: the gateway takes 300 and 100 µs a request, its peer 100 and 50. */
export function plantedResults(): Results {
  return {
    schemaVersion: 1,
    section: 'gateway',
    startedAt: '2026-01-02T03:04:05.000Z',
    commit: '0123456789ab',
    machine: { CPU: 'of a test' },
    versions: { nginx: '1.2.3' },
    parameters: { rounds: 2 },
    leftOut: [{ contestant: 'nginx', reason: 'it is not there' }],
    cases: [
      {
        name: 'get-1kib',
        title: 'GET of 1 KiB',
        target: { contestant: 'gateway', to: 'kubectl proxy', ratio: 1 },
        rows: [
          { contestant: 'gateway', setup: 'as it is', samples: [sample(300), sample(100)] },
          { contestant: 'kubectl proxy', setup: 'as it is', samples: [sample(100), sample(50)] },
        ],
      },
    ],
  };
}

function sample(cpuUs: number): Sample {
  return {
    kind: 'requests',
    requests: 1_000,
    seconds: 2,
    cpuUserMs: cpuUs / 2,
    cpuSystemMs: cpuUs / 2,
    p50Ms: 1,
    p99Ms: 2,
    maxMs: 3,
    peakKib: 2_048,
  };
}
