import { isIP } from "node:net";

/**
 * True for addresses that only this machine reaches: 127.0.0.0/8 (RFC 1122), ::1, and the name reserved by RFC 6761.
 */
export function isLoopback(host: string): boolean {
  const address = plainHost(host);
  return address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/** The canonical form of a host: lower case, without a URL's brackets, and IPv4-mapped IPv6 as IPv4. */
export function plainHost(host: string): string {
  const address = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  const wrapped = /^::ffff:(.*)$/.exec(address)?.[1];
  return wrapped !== undefined && isIP(wrapped) === 4 ? wrapped : address;
}
