/** The gateway's numbers at a small scale; `numbers.full-test.ts` has the whole one. */

import { test } from 'node:test';
import {
  upstreamConnectionsStayWithinTheLimit,
  visitedClustersLeaveNothing,
  watchesNeverSlowAGet,
} from './support/numbers.ts';

const scale = { sequential: 1_000, concurrent: 400, clusters: 200, maxIdleTransports: 64, watches: 120 };

test('1,000 sequential and 400 concurrent requests never open more upstream connections than configured', (t) =>
  upstreamConnectionsStayWithinTheLimit(t, scale));

test('BB-02: 200 clusters visited once each stay within 64 transports and leave no connection after the idle time', (t) =>
  visitedClustersLeaveNothing(t, scale));

test('a GET beside 120 watches on its cluster is answered as fast as without them', (t) =>
  watchesNeverSlowAGet(t, scale));
