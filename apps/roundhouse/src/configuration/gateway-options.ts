// The gateway's options as flags, environment variables and keys of the configuration file.

import { gatewayOptionsSchema } from '@roundhouse/gateway';
import { describeOptions, type SchemaOption } from '../schema-options.ts';

export function describeGatewayOptions(): SchemaOption[] {
  return describeOptions(gatewayOptionsSchema.toJSONSchema({ io: 'input' }), {
    envPrefix: 'ROUNDHOUSE_GATEWAY_',
    headings: { limits: 'Limits:' },
  });
}
