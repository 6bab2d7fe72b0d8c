/** What a control loop is to the loop of loops. */
import type { ResourceDefinition } from '../resources/resource-definition.ts';

export interface Controller {
  /** Undefined: everything. */
  readonly watches: readonly ResourceDefinition[] | undefined;
  /** Writes through the store only, and waits for nothing. */
  reconcile(): void;
}
