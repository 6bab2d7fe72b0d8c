// For the generated pages of docs/ and for tests; a person starts bin/roundhouse.js.

export { describeGatewayOptions } from './configuration/gateway-options.ts';
export type { SchemaOption } from './schema-options.ts';
export { errorCatalogue, type ErrorEntry } from './error-catalogue.ts';
export { Terminal } from './output/terminal.ts';
export { createProgram } from './program.ts';
