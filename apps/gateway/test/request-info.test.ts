import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRequestInfo } from '../src/routing/request-info.ts';
import { parseRequestTarget } from '../src/routing/request-target.ts';

function info(method: string, target: string) {
  return parseRequestInfo(method, parseRequestTarget(target));
}

/** verb, group, version, resource, subresource, namespace, name */
const cases: readonly (readonly [string, string, string])[] = [
  ['GET', '/api/v1/pods', 'list||v1|pods|||'],
  ['GET', '/api/v1/namespaces/web/pods', 'list||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods/', 'list||v1|pods||web|'],
  ['HEAD', '/api/v1/namespaces/web/pods/p', 'get||v1|pods||web|p'],
  ['GET', '/api/v1/namespaces/web/pods?watch=1', 'watch||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods?watch=true', 'watch||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods?watch', 'watch||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods?watch=yes', 'watch||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods?w%61tch=%74rue', 'watch||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods?watch=0', 'list||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods?watch=False', 'list||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods?watch=false&watch=true', 'list||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods?a;b&watch=%zz&watch=1', 'watch||v1|pods||web|'],
  ['GET', '/api/v1/namespaces/web/pods/p?watch=1', 'get||v1|pods||web|p'],
  ['GET', '/api/v1/watch/namespaces/web/pods/p', 'watch||v1|pods||web|p'],
  ['GET', '/api/v1/namespaces', 'list||v1|namespaces|||'],
  ['GET', '/api/v1/namespaces/web', 'get||v1|namespaces||web|web'],
  ['PUT', '/api/v1/namespaces/web/status', 'update||v1|namespaces|status|web|web'],
  ['PUT', '/api/v1/namespaces/web/finalize', 'update||v1|namespaces|finalize|web|web'],
  ['POST', '/api/v1/namespaces/web/pods', 'create||v1|pods||web|'],
  ['PATCH', '/apis/apps/v1/namespaces/web/deployments/d/scale', 'patch|apps|v1|deployments|scale|web|d'],
  ['DELETE', '/apis/apps/v1/namespaces/web/deployments', 'deletecollection|apps|v1|deployments||web|'],
  ['DELETE', '/apis/apps/v1/namespaces/web/deployments/d', 'delete|apps|v1|deployments||web|d'],
  ['GET', '/api/v1/namespaces/web/pods/p/%6cog?follow=true', 'get||v1|pods|log|web|p'],
  ['GET', '/api/v1/nodes/n/proxy/metrics', 'get||v1|nodes|proxy||n'],
  ['POST', '/api/v1/namespaces/web/pods/p/exec?command=ls', 'create||v1|pods|exec|web|p'],
  ['OPTIONS', '/api/v1/pods', '||v1|pods|||'],
  ['GET', '/api/v1', 'get||||||'],
  ['GET', '/apis/apps/v1', 'get||||||'],
  ['GET', '/version', 'get||||||'],
  ['POST', '/', 'post||||||'],
];

test('verb, resource and name are read as the kube-apiserver reads them', () => {
  for (const [method, target, expected] of cases) {
    const { verb, group, version, resource, subresource, namespace, name } = info(method, target);
    const got = [verb, group, version, resource, subresource, namespace, name].join('|');
    assert.equal(got, expected, `${method} ${target}`);
  }
});

test('what ends when somebody wants it to is told from what ends by itself', () => {
  for (const target of [
    '/api/v1/pods?watch=1',
    '/api/v1/watch/pods',
    '/api/v1/namespaces/web/pods/p/log?follow=1',
    '/api/v1/namespaces/web/pods/p/log',
    '/api/v1/namespaces/web/pods/p/attach',
    '/api/v1/namespaces/web/pods/p/exec',
    '/api/v1/namespaces/web/pods/p/portforward',
    '/api/v1/namespaces/web/services/s/proxy/x/y',
    '/api/v1/nodes/n/proxy',
  ]) {
    assert.equal(info('GET', target).longRunning, true, target);
  }
  for (const target of [
    '/api/v1/pods',
    '/api/v1/pods?watch=0',
    '/api/v1/namespaces/web/pods/exec',
    '/watch/x',
  ]) {
    assert.equal(info('GET', target).longRunning, false, target);
  }
});
