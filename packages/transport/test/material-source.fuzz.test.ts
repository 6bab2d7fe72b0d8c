/** Whatever is found in whatever order: in use is the last good of each part, and each change and each bad content is told once. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CertificateAuthority, fuzzRuns } from '@roundhouse/simulators';
import fc from 'fast-check';
import { MaterialSource, TlsMaterial } from '@roundhouse/transport';
import type { MaterialContent, MaterialContents } from '@roundhouse/transport';

const authorities = await Promise.all(['a', 'b'].map((name) => CertificateAuthority.create({ name })));
const [first, second] = await Promise.all(
  ['first', 'second'].map((commonName) => authorities[0]!.issue({ commonName, usage: 'client' })),
);

const cut = (text: string) => fc.nat(text.length - 1).map((length) => text.slice(0, length));
const goodCas = authorities.map(({ certificatePem }) => certificatePem);
const inOtherWords = (text: string): string => `# the same\r\n${text.replaceAll('\n', '\r\n')}`;

const ca: fc.Arbitrary<MaterialContent> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...goodCas, goodCas.join(''), ...goodCas.map(inOtherWords)) },
  { weight: 2, arbitrary: fc.constantFrom('', 'no PEM', new Error('not there'), first!.keyPem) },
  { weight: 2, arbitrary: cut(goodCas.join('')) },
);
const pair: fc.Arbitrary<readonly [MaterialContent, MaterialContent]> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.constantFrom(
      [first!.certPem, first!.keyPem] as const,
      [second!.certPem, second!.keyPem] as const,
    ),
  },
  { weight: 2, arbitrary: fc.constant([first!.certPem, second!.keyPem] as const) },
  { weight: 1, arbitrary: fc.constant([new Error('not there'), first!.keyPem] as const) },
  { weight: 2, arbitrary: fc.tuple(cut(first!.certPem), cut(first!.keyPem)) },
);
const found: fc.Arbitrary<MaterialContents> = fc
  .tuple(fc.option(ca), fc.option(pair))
  .map(([authority, both]) => ({
    ca: authority ?? undefined,
    cert: both?.[0],
    key: both?.[1],
  }));

/** What is right of one part, by the plainest reading of the rules. */
class PartModel {
  good: TlsMaterial | undefined;
  changes = 0;
  bad = 0;
  failing = false;
  #last: string | undefined;

  take(contents: readonly (MaterialContent | undefined)[], parse: () => TlsMaterial): void {
    const seen = contents.map((content) => String(content)).join('\0');
    if (contents.every((content) => content === undefined) || seen === this.#last) return;
    this.#last = seen;
    try {
      for (const content of contents) if (content instanceof Error) throw content;
      const material = parse();
      this.failing = false;
      if (this.good?.equals(material) !== true) {
        this.changes += 1;
        this.good = material;
      }
    } catch {
      this.failing = true;
      this.bad += 1;
    }
  }
}

const text = (content: MaterialContent | undefined): string => String(content);

test('W7, G12, G14: in use is the last good of each part, whatever was found since', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(found, { maxLength: 20 }), async (findings) => {
      const source = MaterialSource.pushed({ pairGraceMs: 0 });
      const told = { ca: 0, pair: 0 };
      let changes = 0;
      await using _follower = source.follow({
        changed: () => (changes += 1),
        bad: ({ parts }) => {
          for (const part of parts) told[part] += 1;
        },
      });
      const models = { ca: new PartModel(), pair: new PartModel() };
      let rotations = 0;
      for (const contents of findings) {
        const complete = models.ca.good !== undefined && models.pair.good !== undefined;
        const before = models.ca.changes + models.pair.changes;
        models.ca.take([contents.ca], () => TlsMaterial.fromPem({ ca: text(contents.ca) }));
        models.pair.take([contents.cert, contents.key], () =>
          TlsMaterial.fromPem({ cert: text(contents.cert), key: text(contents.key) }),
        );
        rotations += complete && models.ca.changes + models.pair.changes > before ? 1 : 0;
        source.push(contents);
        const { ca: authority, pair: client } = source.status;
        assert.deepEqual(
          [authority?.generation, authority?.badGenerations, authority?.error !== undefined],
          [models.ca.changes, models.ca.bad, models.ca.failing],
        );
        assert.deepEqual(
          [client?.generation, client?.badGenerations, client?.error !== undefined],
          [models.pair.changes, models.pair.bad, models.pair.failing],
        );
        const expected =
          models.ca.good === undefined || models.pair.good === undefined
            ? undefined
            : models.ca.good.withPairOf(models.pair.good);
        assert.deepEqual(
          [source.material?.caDigest, source.material?.certDigest],
          [expected?.caDigest, expected?.certDigest],
        );
      }
      assert.deepEqual([changes, told], [rotations, { ca: models.ca.bad, pair: models.pair.bad }]);
    }),
    fuzzRuns(300),
  );
});
