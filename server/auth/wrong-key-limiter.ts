import { isIP } from "node:net";

/** Wrong keys that one address may send at once; one more is allowed every REST_MS after that. */
const MOST_FAILURES = 20;
const REST_MS = 3000;
const MOST_ADDRESSES = 10_000;
/** Valid keys remembered per address: the clients behind a proxy share one. */
const MOST_KEYS = 64;

interface AddressRecord {
  /** Wrong keys that still count at the time `at`, in milliseconds. */
  failures: number;
  at: number;
  /** Ids of valid keys. */
  keys: Set<string>;
}

/**
 * Rate limit of wrong keys per address. Keys that were valid from the address before stay usable: one client with a wrong
 * key must not lock out the others behind its address. Bounded in memory: the longest unused address is removed.
 */
export class WrongKeyLimiter {
  readonly #now: () => number;
  readonly #records = new Map<string, AddressRecord>();

  /** `now`: milliseconds, monotonic. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Milliseconds until keys of this address are checked again; 0 while they are. */
  waitMs(address: string): number {
    const record = this.#records.get(networkOf(address));
    if (record === undefined) return 0;
    return Math.max(0, (this.#left(record) - (MOST_FAILURES - 1)) * REST_MS);
  }

  /** True when any key was valid from the address. */
  hasKeys(address: string): boolean {
    return (this.#records.get(networkOf(address))?.keys.size ?? 0) > 0;
  }

  /** True when this key was valid from the address. */
  hadKey(address: string, keyId: string): boolean {
    return this.#records.get(networkOf(address))?.keys.has(keyId) ?? false;
  }

  failed(address: string): void {
    const record = this.#touch(address);
    record.failures = Math.min(MOST_FAILURES, this.#left(record) + 1);
    record.at = this.#now();
  }

  accepted(address: string, keyId: string): void {
    const { keys } = this.#touch(address);
    if (keys.size < MOST_KEYS) keys.add(keyId);
  }

  get size(): number {
    return this.#records.size;
  }

  #left({ failures, at }: AddressRecord): number {
    return Math.max(0, failures - (this.#now() - at) / REST_MS);
  }

  #touch(address: string): AddressRecord {
    const network = networkOf(address);
    const record = this.#records.get(network) ?? { failures: 0, at: this.#now(), keys: new Set() };
    this.#records.delete(network);
    this.#records.set(network, record);
    for (const oldest of this.#records.keys()) {
      if (this.#records.size <= MOST_ADDRESSES) break;
      this.#records.delete(oldest);
    }
    return record;
  }
}

/** An IPv4 address, or the /64 of an IPv6 address: one client usually has all addresses of a /64. */
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
