export { GatewayError, gatewayErrors } from './errors.ts';
export type { GatewayErrorCode } from './errors.ts';
export { Gateway } from './gateway.ts';
export type { GatewayDependencies } from './gateway.ts';
export { identityModes } from './identity/identity-mode.ts';
export type { IdentityMode } from './identity/identity-mode.ts';
export { parseGatewayOptions } from './options.ts';
export type { GatewayOptions, GatewayOptionsInput } from './options.ts';
