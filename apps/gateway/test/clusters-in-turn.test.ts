/** What happens once for a cluster, or once for a connection, does not happen for each request. */

import { test } from 'node:test';
import { visitClustersInTurn } from './support/clusters-in-turn.ts';

test('G6, W3: 40 clusters in turn: once their connections are there, a request reads no file, parses no certificate and hashes nothing', (t) =>
  visitClustersInTurn(t, 40));
