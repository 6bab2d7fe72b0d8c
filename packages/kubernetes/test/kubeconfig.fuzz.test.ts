import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { KubernetesError, parseKubeconfig } from '../src/index.ts';

const options = fuzzRuns(1_500);

function onlyOurErrors(content: string | Uint8Array): void {
  try {
    parseKubeconfig(content, 'fuzz');
  } catch (error) {
    assert.ok(error instanceof KubernetesError, String(error));
  }
}

const valid = `apiVersion: v1
kind: Config
clusters:
- name: c
  cluster:
    server: https://a.example
    certificate-authority-data: TFMwdA==
users:
- name: u
  user: {token: "abc", client-key: 'k'}
contexts:
- {name: x, context: {cluster: c, user: u}}
`;

test('whatever bytes are read, the result is a kubeconfig or ERR_RH_KUBECONFIG_INVALID', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 400 }), onlyOurErrors), options);
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), onlyOurErrors), options);
});

test('whatever a valid file is changed into, the result is a kubeconfig or ERR_RH_KUBECONFIG_INVALID', () => {
  const change = fc.record({
    at: fc.nat(valid.length),
    remove: fc.nat(12),
    insert: fc.oneof(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ':',
        '- ',
        '\n',
        '&a ',
        '*a',
        '!!binary ',
        '"',
        "'",
        '|\n',
        '? ',
        '\t',
        '<<: ',
      ),
      fc.string({ maxLength: 4 }),
    ),
  });
  fc.assert(
    fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
      let text = valid;
      for (const { at, remove, insert } of changes) {
        text = text.slice(0, at) + insert + text.slice(at + remove);
      }
      onlyOurErrors(text);
    }),
    options,
  );
});

test('whatever shape the data has, the result is a kubeconfig or ERR_RH_KUBECONFIG_INVALID', () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.constant(null));
  const key = fc.constantFrom(
    'name',
    'cluster',
    'user',
    'context',
    'server',
    'token',
    'exec',
    '__proto__',
    'length',
  );
  const value = fc.oneof(leaf, fc.array(leaf, { maxLength: 3 }), fc.dictionary(key, leaf, { maxKeys: 4 }));
  const entry = fc.dictionary(key, value, { maxKeys: 4 });
  const section = fc.oneof(value, fc.array(fc.oneof(entry, value), { maxLength: 4 }));
  const root = fc.record(
    { apiVersion: fc.constantFrom('v1', 1), clusters: section, users: section, contexts: section },
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(root, (data) => onlyOurErrors(JSON.stringify(data))),
    options,
  );
});
