import { isIP } from "node:net";

/** So many wrong keys in a row are taken from one address, and one more every REST_MS after that. */
const MOST_FAILURES = 20;
const REST_MS = 3000;
const MOST_ADDRESSES = 10_000;
/** Keys of one address that are remembered; a proxy's clients share one. */
const MOST_KEYS = 64;

interface Visitor {
  /** Wrong keys that are not forgotten yet at `at`, in milliseconds. */
  failures: number;
  at: number;
  /** Ids of keys that were right. */
  keys: Set<string>;
}

/**
 * Bounds how fast one address may try keys. Who used a key from there before is let in all the same: one client with a
 * wrong key must not lock out all that share its address. Bounded in memory: the address that was quiet the longest goes.
 */
export class WrongKeyLimiter {
  readonly #now: () => number;
  readonly #visitors = new Map<string, Visitor>();

  /** `now`: milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds until keys of this address are looked at again; 0 when they are now. */
  waitMs(address: string): number {
    const visitor = this.#visitors.get(networkOf(address));
    if (visitor === undefined) return 0;
    return Math.max(0, (this.#left(visitor) - (MOST_FAILURES - 1)) * REST_MS);
  }

  /** Whether any key was right from there. */
  hasKeys(address: string): boolean {
    return (this.#visitors.get(networkOf(address))?.keys.size ?? 0) > 0;
  }

  /** Whether this one was. */
  knows(address: string, keyId: string): boolean {
    return this.#visitors.get(networkOf(address))?.keys.has(keyId) ?? false;
  }

  failed(address: string): void {
    const visitor = this.#visit(address);
    visitor.failures = Math.min(MOST_FAILURES, this.#left(visitor) + 1);
    visitor.at = this.#now();
  }

  accepted(address: string, keyId: string): void {
    const { keys } = this.#visit(address);
    if (keys.size < MOST_KEYS) keys.add(keyId);
  }

  get size(): number {
    return this.#visitors.size;
  }

  #left({ failures, at }: Visitor): number {
    return Math.max(0, failures - (this.#now() - at) / REST_MS);
  }

  #visit(address: string): Visitor {
    const network = networkOf(address);
    const visitor = this.#visitors.get(network) ?? { failures: 0, at: this.#now(), keys: new Set() };
    this.#visitors.delete(network);
    this.#visitors.set(network, visitor);
    for (const quietest of this.#visitors.keys()) {
      if (this.#visitors.size <= MOST_ADDRESSES) break;
      this.#visitors.delete(quietest);
    }
    return visitor;
  }
}

/** An IPv4 address, or the /64 that an IPv6 address lies in: whoever has one of those addresses has all of them. */
export function networkOf(address: string): string {
  const bare = address.replace(/%.*$/, "").replace(/^::ffff:(?=\d+\.)/i, "");
  if (isIP(bare) !== 6) return bare;
  const [head = "", tail] = bare.toLowerCase().split("::");
  const groups = head.split(":").filter((group) => group !== "");
  if (tail !== undefined) {
    const after = tail.split(":").filter((group) => group !== "");
    groups.push(...Array.from({ length: 8 - groups.length - after.length }, () => "0"), ...after);
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
}
