/** The gateway's numbers, whole. */

import { test } from 'node:test';
import {
  upstreamConnectionsStayWithinTheLimit,
  visitedClustersLeaveNothing,
  watchesNeverSlowAGet,
} from './support/numbers.ts';

const scale = {
  sequential: 10_000,
  concurrent: 1_000,
  clusters: 2_000,
  maxIdleTransports: 1_024,
  watches: 500,
};

test('10,000 sequential and 1,000 concurrent requests never open more upstream connections than configured', (t) =>
  upstreamConnectionsStayWithinTheLimit(t, scale));

test('BB-02: 2,000 clusters visited once each stay within 1,024 transports and leave no connection after the idle time', (t) =>
  visitedClustersLeaveNothing(t, scale));

test('a GET beside 500 watches on its cluster is answered as fast as without them', (t) =>
  watchesNeverSlowAGet(t, scale));
