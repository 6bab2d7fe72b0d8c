import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { z } from 'zod';
import { YamlProblem, parseYaml } from '../src/index.ts';

/** What means something in YAML. */
const yamlCharacters = Array.from(':-[]{}&*!|>\'"% \n\tab#,?');

const schema = z.strictObject({
  name: z.string(),
  rules: z.array(z.strictObject({ verbs: z.array(z.string()).min(1), port: z.int().optional() })),
});

function problemsOf(text: string): readonly string[] {
  try {
    parseYaml(text, schema);
  } catch (error) {
    assert.ok(error instanceof YamlProblem);
    return error.problems;
  }
  return [];
}

test('what fits the schema is given back as plain data', () => {
  assert.deepEqual(parseYaml('name: a\nrules:\n  - verbs: [get]\n', schema), {
    name: 'a',
    rules: [{ verbs: ['get'] }],
  });
});

test('every complaint has its line, and an unknown key the one that was meant', () => {
  assert.deepEqual(problemsOf('name: a\nrules:\n  - verbs: [get]\n    prot: 5\n'), [
    'line 4: unknown key rules[0].prot; did you mean port?',
  ]);
  assert.deepEqual(problemsOf('name: a\nrules: []\nsomething: 1\n'), [
    'line 3: unknown key something; there is name, rules',
  ]);
  assert.match(
    problemsOf('name: a\nrules:\n  - verbs:\n      - get\n      - 5\n')[0] ?? '',
    /^line 5: rules\[0\]\.verbs\[1\]: /,
  );
  assert.match(problemsOf('rules: []\n')[0] ?? '', /^line 1: name: /);
  assert.match(problemsOf('')[0] ?? '', /^line 1: /);
});

test('broken, doubled, aliased and deep YAML is refused, and nothing of the values is quoted', () => {
  for (const text of [
    'name: planted\nname: planted\nrules: []',
    'name: "planted',
    'a: &planted [1]\nb: *planted',
    `${'['.repeat(20_000)}planted`,
    '!!planted x',
    'name: planted\n\trules: []',
  ]) {
    const problems = problemsOf(text);
    assert.ok(problems.length > 0, text.slice(0, 40));
    assert.doesNotMatch(problems.join('\n'), /planted/);
  }
});

test('whatever the text is, it is parsed or refused, and never anything else', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.json(), fc.string({ unit: fc.constantFrom(...yamlCharacters) })),
      (text) => {
        problemsOf(text);
      },
    ),
    { seed: 20_261_201, numRuns: 500 },
  );
});
