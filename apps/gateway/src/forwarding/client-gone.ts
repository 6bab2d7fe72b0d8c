import { GatewayError } from '../errors.ts';

export function clientGone(): GatewayError {
  return new GatewayError('ERR_RH_CLIENT_GONE', 'the client went away before the answer was complete');
}
