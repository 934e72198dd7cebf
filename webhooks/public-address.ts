import { BlockList, isIP } from "node:net";

/** IPv4 ranges outside of the public Internet (IANA Special-Purpose Address Registry, RFC 6890), and multicast. */
const SPECIAL_V4: readonly [string, number][] = [
  ["0.0.0.0", 8], // this network
  ["10.0.0.0", 8], // private
  ["100.64.0.0", 10], // carrier-grade NAT
  ["127.0.0.0", 8], // loopback
  ["169.254.0.0", 16], // link-local, cloud metadata
  ["172.16.0.0", 12], // private
  ["192.0.0.0", 24], // protocol assignments
  ["192.0.2.0", 24], // documentation
  ["192.88.99.0", 24], // 6to4 relays
  ["192.168.0.0", 16], // private
  ["198.18.0.0", 15], // benchmarks
  ["198.51.100.0", 24], // documentation
  ["203.0.113.0", 24], // documentation
  ["224.0.0.0", 4], // multicast
  ["240.0.0.0", 4], // reserved, broadcast
];

/** IPv6 ranges with an IPv4 address in their last 32 bits: mapped (RFC 4291) and NAT64 (RFC 6052). */
const CARRIERS_V4 = ["::ffff:", "64:ff9b::"];

/**
 * Special ranges within 2000::/3, outside of which no address is public: protocols with Teredo, documentation, 6to4
 * (embeds IPv4), documentation.
 */
const SPECIAL_V6: readonly [string, number][] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const unicast = new BlockList();
unicast.addSubnet("2000::", 3, "ipv6");
const special = new BlockList();
for (const [net, prefix] of SPECIAL_V6) special.addSubnet(net, prefix, "ipv6");
for (const [net, prefix] of SPECIAL_V4) special.addSubnet(net, prefix, "ipv4");
for (const carrier of CARRIERS_V4) {
  unicast.addSubnet(`${carrier}0.0.0.0`, 96, "ipv6");
  for (const [net, prefix] of SPECIAL_V4) special.addSubnet(`${carrier}${net}`, 96 + prefix, "ipv6");
}

/** True for an IP address of the public Internet, false for any other text. */
export function isPublicAddress(address: string): boolean {
  const [bare = ""] = address.split("%");
  const family = isIP(bare);
  if (family === 4) return !special.check(bare, "ipv4");
  return family === 6 && unicast.check(bare, "ipv6") && !special.check(bare, "ipv6");
}
