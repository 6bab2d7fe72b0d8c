/** Every code that the gateway can answer with or fail with, for `roundhouse explain` and docs/errors.md. */

import { tunnelErrors } from '@roundhouse/konnectivity';
import { kubernetesErrors } from '@roundhouse/kubernetes';
import { processErrors } from '@roundhouse/process';
import { transportErrors } from '@roundhouse/transport';
import type { CatalogueEntry } from '@roundhouse/transport';
import { gatewayErrors } from './errors.ts';

export const errorCatalogue: Readonly<Record<string, CatalogueEntry>> = {
  ...transportErrors,
  ...tunnelErrors,
  ...kubernetesErrors,
  ...processErrors,
  ...gatewayErrors,
};
