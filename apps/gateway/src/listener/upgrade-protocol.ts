/** Which protocols are relayed after an upgrade. All others that a client may ask for are its offer, and need not be taken up. */

const relayed: ReadonlySet<string> = new Set(['websocket', 'spdy/3.1']);

/**
 * The first of them in an `Upgrade` field, as it is spelled there; undefined when it has none.
 *
 * @param upgrade several fields joined by commas
 */
export function relayedProtocolIn(upgrade: string | undefined): string | undefined {
  return upgrade
    ?.split(',')
    .map((item) => item.trim())
    .find((item) => relayed.has(item.toLowerCase()));
}
