/** Whatever the target of a request is, it is routed as it came or refused; and what a client of Kubernetes sends is never refused. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { GatewayError } from '../src/index.ts';
import { parseRequestInfo } from '../src/routing/request-info.ts';
import { findRoute } from '../src/routing/route.ts';
import { parseRequestTarget } from '../src/routing/request-target.ts';

function info(method: string, target: string) {
  return parseRequestInfo(method, parseRequestTarget(target));
}

const runs = fuzzRuns(3_000);
const piece = fc.oneof(
  fc.constantFrom(
    'api',
    'apis',
    'v1',
    'apps',
    'watch',
    'proxy',
    'namespaces',
    'pods',
    'exec',
    'status',
    'web',
    '.',
    '..',
    '%2e',
    '%2E%2e',
    '%2f',
    '%5c',
    '%00',
    '%',
    '%zz',
    '',
    '\\',
    '#',
    '?',
    '?watch=1',
    '&',
    ';',
    ' ',
    '\u00e9',
  ),
  fc.string({ unit: 'binary', maxLength: 4 }),
);

test('whatever the target is, it is routed as it came or refused with one of our codes', () => {
  const target = fc.array(piece, { maxLength: 12 }).map((pieces) => `/clusters/a/${pieces.join('/')}`);
  fc.assert(
    fc.property(fc.constantFrom('GET', 'POST', 'DELETE', 'FOO'), target, (method, raw) => {
      try {
        const route = findRoute(method, raw);
        assert.equal(`/clusters/a${route.target.path}${route.target.query}`, raw);
        // Decoding the path once, as the kube-apiserver does, must not make another path of what names the resource.
        const decoded = decodeURIComponent(route.info.name) + route.info.namespace + route.info.resource;
        assert.ok(!/[\\\0]|^\.\.?$/.test(decoded));
      } catch (error) {
        if (error instanceof URIError) return;
        assert.ok(error instanceof GatewayError, String(error));
        assert.equal(error.httpStatus, 400);
      }
    }),
    runs,
  );
});

test('a path that a client of Kubernetes makes is never refused', () => {
  const name = fc.stringMatching(/^[a-z0-9]([a-z0-9.:-]{0,10}[a-z0-9])?$/);
  fc.assert(
    fc.property(
      name,
      name,
      fc.constantFrom('pods', 'clusterroles', 'widgets'),
      (namespace, object, resource) => {
        const path = `/api/v1/namespaces/${encodeURIComponent(namespace)}/${resource}/${encodeURIComponent(object)}`;
        const found = info('GET', path);
        assert.deepEqual([found.namespace, found.resource, found.name], [namespace, resource, object]);
      },
    ),
    runs,
  );
});
