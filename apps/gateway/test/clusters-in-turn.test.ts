/** What happens once for a cluster, or once for a connection, does not happen for each request. */

import { test } from 'node:test';
import { visitClustersInTurn } from './support/clusters-in-turn.ts';

test('G6, W3: 2,000 clusters in turn: each is built and dialed once, and then no request reads a file, parses a certificate or hashes', (t) =>
  visitClustersInTurn(t, 2_000));
