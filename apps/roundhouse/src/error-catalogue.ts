// All error codes of all programs, for `roundhouse explain` and docs/errors.md.

export interface ErrorEntry {
  readonly summary: string;
  readonly remedy: string;
  readonly retry: 'never' | 'safe' | 'after';
  readonly httpStatus: number;
}

export const errorCatalogue: ReadonlyMap<string, ErrorEntry> = new Map(Object.entries({}));
