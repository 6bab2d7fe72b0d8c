import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProcessError } from '@roundhouse/process';
import { parseGatewayOptions } from '../src/index.ts';

const minimal = { kubeconfigs: ['a'] };

test('everything but the kubeconfigs has a default', () => {
  const options = parseGatewayOptions(minimal);
  assert.deepEqual(options.listen, { host: '127.0.0.1', port: 7443 });
  assert.deepEqual(options.admin, { host: '127.0.0.1', port: 7480 });
  assert.equal(options.upstreamAlpn, 'auto');
  assert.ok(options.limits.keepAliveTimeoutMs > 60_000, 'BB-33: above the 60 s of the balancers in front');
});

test('what is unknown, impossible or unsafe is refused by name', () => {
  for (const [options, words] of [
    [{}, 'kubeconfigs'],
    [{ kubeconfigs: [] }, 'at least one kubeconfig'],
    [{ ...minimal, kubeconfig: 'b' }, '"kubeconfig"'],
    [{ ...minimal, limits: { maxConections: 1 } }, '"maxConections"'],
    [{ ...minimal, listen: { port: 70_000 } }, 'listen.port'],
    [{ ...minimal, limits: { requestTimeoutMs: 0 } }, 'requestTimeoutMs'],
    [{ ...minimal, listen: { host: '0.0.0.0' } }, 'plain HTTP is served on loopback only'],
    [
      { ...minimal, listen: { host: '0.0.0.0' }, tls: { certFile: 'c', keyFile: 'k' } },
      'without authentication only loopback is served',
    ],
    [{ ...minimal, clientCaFile: 'ca' }, 'client certificates need TLS'],
    [{ ...minimal, identity: 'impersonate' }, 'impersonate needs to know who is calling'],
    [{ ...minimal, clusterIdentity: { alpha: 'impersonate' } }, 'impersonate needs to know who is calling'],
    [{ ...minimal, tls: { certFile: 'c' } }, 'keyFile'],
    [{ ...minimal, authorizationFile: 'r' }, 'rules need to know who is calling'],
    [{ ...minimal, audit: { required: true } }, 'there is no audit log'],
    [
      { ...minimal, oidc: { issuer: 'https://i', audiences: ['a'], algorithms: ['HS256'] } },
      'oidc.algorithms[0]',
    ],
    [{ ...minimal, oidc: { issuer: 'https://i?x', audiences: ['a'] } }, 'neither query nor fragment'],
    [{ ...minimal, oidc: { issuer: 'https://i', audiences: [] } }, 'oidc.audiences'],
  ] as const) {
    assert.throws(
      () => parseGatewayOptions(options),
      (error) =>
        error instanceof ProcessError &&
        error.code === 'ERR_RH_OPTIONS_INVALID' &&
        error.exitCode === 3 &&
        error.message.includes(words),
      words,
    );
  }
});
