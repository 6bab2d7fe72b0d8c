/**
 * The servers that are reached without a proxy: NO_PROXY by the rules of golang.org/x/net/http/httpproxy. What is no valid
 * entry is passed over, as it is there.
 */

import { BlockList, isIP } from 'node:net';

interface DomainRule {
  /** With a dot in front, as it has to end. */
  readonly suffix: string;
  /** Whether the domain itself is meant, too. */
  readonly itself: boolean;
  /** Undefined: any. */
  readonly port: number | undefined;
}

interface AddressRule {
  readonly addresses: BlockList;
  readonly port: number | undefined;
}

export class NoProxy {
  readonly #everything: boolean;
  readonly #domains: readonly DomainRule[];
  readonly #addresses: readonly AddressRule[];

  /**
   * @param list comma-separated: `*`; a domain, which stands for those under it, too; `.domain` or `*.domain`, for those under
   * it alone; an address; a network (`10.0.0.0/8`). Domains and addresses may have a port.
   */
  constructor(list: string) {
    const entries = list
      .split(',')
      .map((entry) => entry.trim().toLowerCase())
      .filter((entry) => entry !== '');
    this.#everything = entries.includes('*');
    this.#addresses = entries.flatMap((entry) => addressRule(entry) ?? []);
    this.#domains = entries.flatMap((entry) => domainRule(entry) ?? []);
  }

  /**
   * This machine always is reached without.
   *
   * @param host as in a URL
   */
  matches(host: string, port: number): boolean {
    const name = bare(host.toLowerCase()).replace(/\.$/, '');
    if (this.#everything || name === 'localhost') {
      return true;
    }
    const family = familyOf(name);
    if (family !== undefined) {
      return (
        loopback.check(name, family) ||
        this.#addresses.some((rule) => fits(rule, port) && rule.addresses.check(name, family))
      );
    }
    return this.#domains.some(
      (rule) =>
        fits(rule, port) && (name.endsWith(rule.suffix) || (rule.itself && `.${name}` === rule.suffix)),
    );
  }
}

const loopback = networks(['127.0.0.0', 8], ['::1', 128]);

function fits(rule: { readonly port: number | undefined }, port: number): boolean {
  return rule.port === undefined || rule.port === port;
}

function addressRule(entry: string): AddressRule | undefined {
  const [, network, prefix] = /^([^/]+)\/(\d{1,3})$/.exec(entry) ?? [];
  if (network !== undefined && prefix !== undefined) {
    const bits = { ipv4: 32, ipv6: 128, none: -1 }[familyOf(network) ?? 'none'];
    return Number(prefix) > bits
      ? undefined
      : { addresses: networks([network, Number(prefix)]), port: undefined };
  }
  const { host, port } = hostAndPort(entry);
  const family = familyOf(host);
  return family === undefined
    ? undefined
    : { addresses: networks([host, family === 'ipv4' ? 32 : 128]), port };
}

function domainRule(entry: string): DomainRule | undefined {
  const { host, port } = hostAndPort(entry);
  if (host === '' || entry.includes('/') || familyOf(host) !== undefined) {
    return undefined;
  }
  const domain = host.replace(/^\*(?=\.)/, '');
  const itself = !domain.startsWith('.');
  // In the spelling that hosts of URLs have; `xn--` for what is not ASCII.
  const spelling = URL.parse(`http://${domain.replace(/^\./, '')}`)?.hostname;
  return spelling === undefined ? undefined : { suffix: `.${spelling}`, itself, port };
}

function hostAndPort(entry: string): { readonly host: string; readonly port: number | undefined } {
  const [, host, port] = /^(\[[^\]]*\]|[^:]*):(\d{1,5})$/.exec(entry) ?? [];
  return host === undefined
    ? { host: bare(entry), port: undefined }
    : { host: bare(host), port: Number(port) };
}

/** An IPv6 address stands in brackets in a URL. */
function bare(host: string): string {
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}

/** Of an address; one with a zone is none that a URL could have. */
function familyOf(host: string): 'ipv4' | 'ipv6' | undefined {
  const version = host.includes('%') ? 0 : isIP(host);
  if (version === 0) {
    return undefined;
  }
  return version === 4 ? 'ipv4' : 'ipv6';
}

function networks(...subnets: (readonly [address: string, prefix: number])[]): BlockList {
  const list = new BlockList();
  for (const [address, prefix] of subnets) {
    list.addSubnet(address, prefix, isIP(address) === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
