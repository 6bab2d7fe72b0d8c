import { describeGatewayMetrics } from '@roundhouse/gateway';
import { profiles, transportErrors } from '@roundhouse/transport';
import type { Limits, TransportErrorCode } from '@roundhouse/transport';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repositoryRoot } from '../repository.ts';
import type { Page } from './page.ts';

/** What happens at a limit, and which test holds it. */
interface AtTheLimit {
  readonly option: string;
  readonly answer: string;
  /** With which what is refused fails. */
  readonly code?: TransportErrorCode;
  /** Of the gateway: where it is seen how near the limit is, or how often it was met. Refusals are counted by their code besides. */
  readonly metric?: string;
  /** Below packages/transport/test; it must name the limit. */
  readonly test: string;
}

const limits: Readonly<Record<keyof Limits, AtTheLimit>> = {
  maxConnectionsPerHost: {
    option: 'maxConnectionsPerCluster',
    answer: 'One more short request waits.',
    metric: 'roundhouse_transport_connections',
    test: 'connection-limits.test.ts',
  },
  maxWaitingPerHost: {
    option: 'maxWaitingPerCluster',
    answer:
      'One more is refused, or takes the place of the newest of a caller who has more waiting than its own.',
    code: 'ERR_RH_QUEUE_FULL',
    metric: 'roundhouse_transport_requests',
    test: 'fair-waiting.test.ts',
  },
  maxWaitMs: {
    option: 'maxWaitMs',
    answer: 'Who waited so long is refused.',
    code: 'ERR_RH_QUEUE_TIMEOUT',
    test: 'connection-limits.test.ts',
  },
  maxStreamsPerHost: {
    option: 'maxStreamsPerCluster',
    answer: 'One more watch or log is refused.',
    code: 'ERR_RH_STREAM_LIMIT',
    metric: 'roundhouse_transport_requests',
    test: 'streams-and-requests.test.ts',
  },
  maxStreamsPerConnection: {
    option: 'maxStreamsPerConnection',
    answer: 'One more goes over another HTTP/2 connection.',
    metric: 'roundhouse_transport_http2_requests',
    test: 'protocol-by-kind.test.ts',
  },
  maxUpgradesPerHost: {
    option: 'maxSessionsPerCluster',
    answer: 'One more exec, port-forward or WebSocket is refused.',
    code: 'ERR_RH_UPGRADE_LIMIT',
    metric: 'roundhouse_gateway_sessions',
    test: 'upgrades.test.ts',
  },
  maxUpgrades: {
    option: 'maxSessions',
    answer: 'The same, over all endpoints.',
    code: 'ERR_RH_UPGRADE_LIMIT',
    metric: 'roundhouse_gateway_sessions',
    test: 'upgrades.test.ts',
  },
  maxIdlePerHost: {
    option: 'maxIdlePerCluster',
    answer: 'One more is closed, not kept.',
    metric: 'roundhouse_transport_connections',
    test: 'founding-experiments.test.ts',
  },
  maxIdle: {
    option: 'maxIdle',
    answer: 'The one that is idle longest, of whatever endpoint, is closed.',
    metric: 'roundhouse_transport_connections',
    test: 'founding-experiments.test.ts',
  },
  idleTimeoutMs: {
    option: 'idleTimeoutMs',
    answer: 'The idle connection is closed.',
    metric: 'roundhouse_transport_connections',
    test: 'idle-connections.test.ts',
  },
  dialTimeoutMs: {
    option: 'dialTimeoutMs',
    answer: 'The dial is given up, for all who waited for it.',
    code: 'ERR_RH_DIAL_TIMEOUT',
    metric: 'roundhouse_transport_connections',
    test: 'connection-limits.test.ts',
  },
  breakerThreshold: {
    option: 'breakerThreshold',
    answer: 'The endpoint is not dialed for a while; what needs a dial is refused.',
    code: 'ERR_RH_ENDPOINT_DOWN',
    metric: 'roundhouse_transport_breakers_opened_total',
    test: 'dial-breaker.test.ts',
  },
  breakerRestMs: {
    option: 'breakerRestMs',
    answer: 'One request dials for all.',
    metric: 'roundhouse_transport_refused_while_down_total',
    test: 'dial-breaker.test.ts',
  },
  breakerMaxRestMs: {
    option: 'breakerMaxRestMs',
    answer: 'No rest is longer.',
    metric: 'roundhouse_transport_breakers_open',
    test: 'dial-breaker.test.ts',
  },
  pingAfterMs: {
    option: 'pingAfterMs',
    answer: 'The HTTP/2 connection is asked whether it lives.',
    metric: 'roundhouse_transport_unanswered_pings_total',
    test: 'http2-liveness.test.ts',
  },
  pingTimeoutMs: {
    option: 'pingTimeoutMs',
    answer: 'It is given up, with what it carries.',
    code: 'ERR_RH_CONNECTION_LOST',
    metric: 'roundhouse_transport_unanswered_pings_total',
    test: 'http2-liveness.test.ts',
  },
  http2BackOffMs: {
    option: 'http2BackOffMs',
    answer: 'HTTP/2 is tried again.',
    metric: 'roundhouse_transport_http2_refusals_total',
    test: 'protocol-by-kind.test.ts',
  },
  requestTimeoutMs: {
    option: 'requestTimeoutMs',
    answer: 'The short request is given up.',
    code: 'ERR_RH_REQUEST_TIMEOUT',
    test: 'connection-limits.test.ts',
  },
  drainTimeoutMs: {
    option: 'drainTimeoutMs',
    answer: 'What is left of a former generation, or of the pool, is cut.',
    code: 'ERR_RH_DRAINED',
    metric: 'roundhouse_transport_transports',
    test: 'identity-rotation.test.ts',
  },
  upgradeDrainTimeoutMs: {
    option: 'sessionDrainTimeoutMs',
    answer: 'The upgraded connection of a former generation is cut.',
    code: 'ERR_RH_DRAINED',
    metric: 'roundhouse_gateway_sessions_ended_total',
    test: 'upgrades.test.ts',
  },
  drainSpreadMs: {
    option: 'drainSpreadMs',
    answer: 'Those cuts are spread over so long, before the limit.',
    metric: 'roundhouse_transport_transports',
    test: 'identity-drain.test.ts',
  },
  maxIdleTransports: {
    option: 'maxIdleTransports',
    answer: 'The least recently used one that nobody uses is closed.',
    metric: 'roundhouse_transport_evictions_total',
    test: 'transport-limits.test.ts',
  },
  maxTransports: {
    option: 'maxTransports',
    answer: 'All are in use: a request to one more endpoint is refused.',
    code: 'ERR_RH_AT_CAPACITY',
    metric: 'roundhouse_transport_refused_at_capacity_total',
    test: 'transport-limits.test.ts',
  },
  readAheadBytes: {
    option: '',
    answer: 'The connection waits for the reader of its answer.',
    test: 'back-pressure.test.ts',
  },
};

/** docs/limits.md: every bound of a pool, and what happens there. */
export const limitsPage: Page = {
  file: 'docs/limits.md',
  async render() {
    const rows = await Promise.all(
      Object.keys(limits)
        .filter(isLimit)
        .map((name) => row(name)),
    );
    return `# Limits

Generated by \`npm run docs\` from the limits of \`@roundhouse/transport\`. Each can be given to a pool (\`limits\`), which has the values of one of two
profiles otherwise; the gateway has the \`proxy\` profile, and options (\`limits.<option>\`, [configuration.md](configuration.md)) of its own names.
What is refused with 503 has a Retry-After, and whatever fails is counted by its code in \`roundhouse_gateway_failures_total\`. A limit is one
endpoint's or one cluster's own where nothing else is said: one that is used up is that cluster's trouble.

| limit | option of the gateway | \`apiClient\` | \`proxy\` | at the limit | metric | held by |
|---|---|--:|--:|---|---|---|
${rows.join('\n')}
`;
  },
};

function isLimit(name: string): name is keyof Limits {
  return Object.hasOwn(limits, name);
}

async function row(name: keyof Limits): Promise<string> {
  const { option, answer, code, metric, test } = limits[name];
  const file = `packages/transport/test/${test}`;
  if (!(await readFile(join(repositoryRoot, file), 'utf8')).includes(name)) {
    throw new Error(`${file} says nothing of ${name}`);
  }
  if (metric !== undefined && !describeGatewayMetrics().some((described) => described.name === metric)) {
    throw new Error(`there is no metric ${metric}`);
  }
  const refusal =
    code === undefined ? '' : ` \`${code}\`, for a proxy's caller ${transportErrors[code].httpStatus}.`;
  const value = (profile: keyof typeof profiles): string => profiles[profile][name].toLocaleString('en-US');
  return `| \`${name}\` | ${option === '' ? '' : `\`${option}\``} | ${value('apiClient')} | ${value('proxy')} | ${answer}${refusal} | ${metric === undefined ? '' : `\`${metric}\``} | [${test}](../${file}) |`;
}
