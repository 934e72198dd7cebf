import type { LookupAddress } from "node:dns";
import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { isPublicAddress } from "./address.ts";
import { hostOf } from "./endpoint.ts";

/** All addresses of a host name; rejects when it has none. */
export type Resolve = (host: string) => Promise<LookupAddress[]>;

export const resolveBySystem: Resolve = (host) => lookup(host, { all: true });

/**
 * The addresses that an event may be sent to, resolved once: who connects must use these and not ask again, or a name
 * server could answer the check with a public address and the connection with a private one (DNS rebinding).
 * One address that is not public refuses the host whole, unless `allowPrivate`. Rejects with the reason.
 */
export async function destination(url: URL, allowPrivate: boolean, resolve: Resolve): Promise<LookupAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  const addresses = family === 0 ? await resolve(host) : [{ address: host, family }];
  if (addresses.length === 0) throw new Error(`${host} has no address`);
  const inside = addresses.filter(({ address }) => !isPublicAddress(address));
  if (inside.length > 0 && !allowPrivate) {
    throw new Error(`blocked: ${host} leads to ${inside[0]!.address}, which is not a public address`);
  }
  if (url.protocol === "http:" && inside.length < addresses.length) {
    throw new Error(`blocked: ${host} is reached over the Internet, where only https will do`);
  }
  return addresses;
}
