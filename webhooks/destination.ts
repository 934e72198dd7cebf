import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { hostOf } from "./endpoint.ts";
import { isPublicAddress } from "./public-address.ts";

/** Resolves all addresses of a host name; rejects when it has none. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

export const resolveBySystem: Resolve = (host) => lookup(host, { all: true });

/**
 * Resolves the addresses for an event once. The connection must use these addresses without another lookup: otherwise a
 * name server could answer the check with a public address and the connection with a private one (DNS rebinding). A
 * single address that is not public blocks the host, unless `allowPrivate`. Rejects with the reason.
 */
export async function destination(url: URL, allowPrivate: boolean, resolve: Resolve): Promise<LookupAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  const internal = addresses.filter(({ address }) => !isPublicAddress(address));
  if (internal.length > 0 && !allowPrivate) {
    throw new Error(`blocked: ${host} resolves to ${internal[0]!.address}, which is not a public address`);
  }
  if (url.protocol === "http:" && internal.length < addresses.length) {
    throw new Error(`blocked: ${host} is on the Internet, which requires https`);
  }
  return addresses;
}
