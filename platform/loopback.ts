import { isIP } from "node:net";

/** Whether only this machine reaches the address: 127.0.0.0/8 (RFC 1122), ::1, and the name that RFC 6761 reserves. */
export function isLoopback(host: string): boolean {
  const address = plainHost(host);
  return address === "localhost" || address === "::1" || (isIP(address) === 4 && address.startsWith("127."));
}

/** One form for each host: in lower case, without the brackets of a URL, an IPv4 address not wrapped in IPv6. */
export function plainHost(host: string): string {
  const address = host.toLowerCase().replace(/^\[(.*)\]$/, "$1");
  const wrapped = /^::ffff:(.*)$/.exec(address)?.[1];
  return wrapped !== undefined && isIP(wrapped) === 4 ? wrapped : address;
}
