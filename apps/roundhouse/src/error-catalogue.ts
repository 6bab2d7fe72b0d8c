// All error codes of all programs, for `roundhouse explain` and docs/errors.md.

import { errorCatalogue as gatewayCatalogue } from '@roundhouse/gateway';

export type ErrorEntry = (typeof gatewayCatalogue)[string];

export const errorCatalogue: ReadonlyMap<string, ErrorEntry> = new Map(Object.entries(gatewayCatalogue));
