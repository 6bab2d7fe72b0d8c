import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findRoute } from '../src/routing/route.ts';
import { lifetimeMsOf } from '../src/routing/stream-bounds.ts';

test('BB-53: a watch lasts for what it asked for and ten seconds, else for the default; a log has no bound', () => {
  for (const [target, expected] of [
    ['/api/v1/pods?watch=1&timeoutSeconds=60', 70_000],
    ['/api/v1/pods?timeoutSeconds=60&timeoutSeconds=5&watch=true', 70_000],
    ['/api/v1/pods?watch=1', 5_000],
    ['/api/v1/pods?watch=1&timeoutSeconds=0', 5_000],
    ['/api/v1/pods?watch=1&timeoutSeconds=-1', 5_000],
    ['/api/v1/pods?watch=1&timeoutSeconds=soon', 5_000],
    // A timer that is too long for Node.js would fire after a millisecond.
    ['/api/v1/pods?watch=1&timeoutSeconds=999999999', 2_147_483_647],
    ['/api/v1/pods?timeoutSeconds=60', undefined],
    ['/api/v1/namespaces/web/pods/p/log?follow=1&timeoutSeconds=60', undefined],
  ] as const) {
    assert.equal(lifetimeMsOf(findRoute('GET', `/clusters/a${target}`), 5_000), expected, target);
  }
});
