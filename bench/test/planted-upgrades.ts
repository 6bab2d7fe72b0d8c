import type { Results } from '../report/results.ts';
import type { IdleSample, SlowSample } from '../report/session-samples.ts';

/** The gateway takes 60 KiB a session, its peer 40; a slow reader costs it 10 and 40 MB, its peer nothing. */
export function plantedUpgrades(): Results {
  return {
    schemaVersion: 1,
    section: 'upgrades',
    startedAt: '2026-01-02T03:04:05.000Z',
    commit: '0123456789ab',
    machine: { CPU: 'of a test' },
    versions: {},
    parameters: { rounds: 1 },
    leftOut: [],
    cases: [
      {
        name: 'idle-spdy',
        title: 'Idle execs',
        target: { contestant: 'gateway', to: 'kubectl proxy', ratio: 1.2 },
        rows: [
          { contestant: 'gateway', setup: 'as it is', samples: [idle(60)] },
          { contestant: 'kubectl proxy', setup: 'as it is', samples: [idle(40)] },
        ],
      },
      {
        name: 'slow-spdy',
        title: 'A slow reader',
        limit: { contestant: 'gateway', most: 32 },
        rows: [
          { contestant: 'gateway', setup: 'as it is', samples: [slow(10), slow(40)] },
          { contestant: 'kubectl proxy', setup: 'as it is', samples: [slow(0), slow(0)] },
        ],
      },
    ],
  };
}

const cpu = { cpuUserMs: 20, cpuSystemMs: 10 };

function idle(kibASession: number): IdleSample {
  return {
    kind: 'idle',
    sessions: 500,
    delivered: 500,
    residentBeforeKib: 100_000,
    residentOpenKib: 100_000 + 500 * kibASession,
    peakKib: 150_000,
    ...cpu,
  };
}

function slow(megabytes: number): SlowSample {
  const before = 100_000;
  return {
    kind: 'slow',
    bytes: 8_000_000,
    seconds: 2,
    residentBeforeKib: before,
    peakKib: before + (megabytes * 1e6) / 1024,
    ...cpu,
  };
}
