/** The same as clusters-in-turn.test.ts for as many clusters as a gateway has to bear by its defaults. */

import { test } from 'node:test';
import { visitClustersInTurn } from './support/clusters-in-turn.ts';

test(
  'W3: 2,000 clusters in turn: each is built and dialed once, and no request reads, parses or hashes',
  { timeout: 300_000 },
  (t) => visitClustersInTurn(t, 2_000),
);
