import { join } from 'node:path';

/** Where the results that the repository shows are kept. The page and the picture are made from the JSON and nothing else. */
export function publishedFiles(repository: string): {
  readonly json: string;
  readonly page: string;
  readonly picture: string;
} {
  return {
    json: join(repository, 'bench/results/gateway.json'),
    page: join(repository, 'docs/benchmarks.md'),
    picture: join(repository, 'docs/benchmarks.svg'),
  };
}

/** The same of upgrades, without a picture. */
export function publishedUpgrades(repository: string): { readonly json: string; readonly page: string } {
  return {
    json: join(repository, 'bench/results/upgrades.json'),
    page: join(repository, 'docs/benchmarks-upgrades.md'),
  };
}
