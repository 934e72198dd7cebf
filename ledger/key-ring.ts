import { randomBytes } from "node:crypto";
import type { Store } from "../store/store.ts";
import type { Page } from "../store/types/cursor-page.ts";
import type { KeyRow, KeyTermsRow } from "../store/types/key-row.ts";
import { ENVIRONMENT_KEY, type Key, keyOf, LOCAL_OWNER } from "./key.ts";
import { digestOf, equals, newSecret, prefixOf } from "./secret.ts";

export interface KeyRingDeps {
  store: Pick<Store, "keys">;
  /** The administrator's key from the environment; null for none. */
  adminKey: string | null;
  log: { error(fields: object, message: string): void };
  /** Unix seconds. */
  now(): number;
}

/** A new key with the only copy of its secret. */
export interface MadeKey {
  row: KeyRow;
  secret: string;
}

interface CachedKey {
  row: KeyRow;
  key: Key;
}

const MAX_CACHED_KEYS = 10_000;
const TOUCH_INTERVAL_MS = 60_000;

export const NO_TERMS: Omit<KeyTermsRow, "name" | "scopes"> = {
  models: null,
  tiers: null,
  metadata: null,
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrent: null,
  enqueuedTokens: null,
  storageBytes: null,
  dailyNano: null,
  monthlyNano: null,
  softRatio: null,
  expiresAt: null,
};

/**
 * All API keys, with a cache of those in use. No other process writes the database, so every change is made here and
 * evicts the changed key. Every method may throw StoreError.
 */
export class KeyRing {
  readonly #deps: KeyRingDeps;
  readonly #adminHash: string | null;
  /** Cached keys by prefix, the most recently used last. */
  readonly #cached = new Map<string, CachedKey>();
  /** Number of changes: a row read before a change may be outdated after it. */
  #changes = 0;
  /** Times of last use that are not stored yet, in Unix seconds by id. */
  #uses = new Map<string, number>();
  readonly #timer: NodeJS.Timeout;

  constructor(deps: KeyRingDeps) {
    this.#deps = deps;
    this.#adminHash = deps.adminKey === null ? null : digestOf(deps.adminKey).toString("hex");
    this.#timer = setInterval(() => void this.#touch(), TOUCH_INTERVAL_MS).unref();
  }

  /** The key with this secret; null when it is unknown, revoked or expired. */
  async authenticate(secret: string): Promise<Key | null> {
    const digest = digestOf(secret);
    if (this.#adminHash !== null && equals(digest, this.#adminHash)) return ENVIRONMENT_KEY;
    const prefix = prefixOf(secret);
    const found = prefix === null ? null : await this.#find(prefix);
    if (found === null) return null;
    const { row, key } = found;
    const now = this.#deps.now();
    if (row.revokedAt !== null || (row.expiresAt !== null && row.expiresAt <= now)) return null;
    if (!equals(digest, row.hash) && !isPrevious(row, digest, now)) return null;
    this.#uses.set(row.id, now);
    return key;
  }

  async create(owner: string, terms: KeyTermsRow): Promise<MadeKey> {
    const { text, prefix } = newSecret();
    const row = await this.#deps.store.keys.insert({
      ...terms,
      id: `key_${randomBytes(12).toString("hex")}`,
      prefix,
      hash: digestOf(text).toString("hex"),
      owner,
      createdAt: this.#deps.now(),
    });
    return { row, secret: text };
  }

  /** Creates the first administrator's key unless one exists. */
  async createFirst(): Promise<MadeKey | null> {
    const { store, adminKey, now } = this.#deps;
    if (adminKey !== null || (await store.keys.administrators({ now: now() })) > 0) return null;
    const tiers = JSON.stringify(ENVIRONMENT_KEY.tiers);
    return this.create(LOCAL_OWNER, { ...NO_TERMS, name: "administrator", scopes: '["admin"]', tiers });
  }

  async get(id: string): Promise<KeyRow | null> {
    const row = await this.#deps.store.keys.get({ id });
    return row === null ? null : this.#used(row);
  }

  async list(query: { owner: string | null; limit: number; after: string | null }): Promise<Page<KeyRow>> {
    const page = await this.#deps.store.keys.list(query);
    return page === "unknown_cursor" ? page : { ...page, rows: page.rows.map((row) => this.#used(row)) };
  }

  /** Null for an unknown key. "revoked" for a revoked one, which cannot be restored. */
  async update(id: string, changes: Partial<KeyTermsRow>): Promise<KeyRow | "revoked" | null> {
    const row = await this.get(id);
    if (row === null) return null;
    if (row.revokedAt !== null) return "revoked";
    return this.#changed(row.prefix, this.#deps.store.keys.update({ id, changes }));
  }

  /** `graceSeconds`: how long the previous secret remains valid. Null and "revoked" as for `update`. */
  async rotate(id: string, graceSeconds: number): Promise<MadeKey | "revoked" | null> {
    const row = await this.get(id);
    if (row === null) return null;
    const { text } = newSecret(row.prefix);
    const hash = digestOf(text).toString("hex");
    const previousUntil = graceSeconds === 0 ? null : this.#deps.now() + graceSeconds;
    const rotated = await this.#changed(row.prefix, this.#deps.store.keys.rotate({ id, hash, previousUntil }));
    return rotated === null ? "revoked" : { row: rotated, secret: text };
  }

  /** Rejects all further requests with this key. Null for an unknown key. */
  async revoke(id: string): Promise<KeyRow | null> {
    const row = await this.get(id);
    if (row === null) return null;
    return this.#changed(row.prefix, this.#deps.store.keys.revoke({ id, now: this.#deps.now() }));
  }

  /** Awaits a change of all keys of an owner, and evicts rows that were read before its end. */
  async changeOwner<T>(owner: string, change: Promise<T>): Promise<T> {
    try {
      return await change;
    } finally {
      this.#changes++;
      for (const [prefix, { row }] of this.#cached) if (row.owner === owner) this.#cached.delete(prefix);
    }
  }

  /** Models that the key allows, also after its revocation; null for all. */
  async modelsOf(keyId: string | null): Promise<readonly string[] | null> {
    const row = keyId === null ? null : await this.get(keyId);
    return row === null ? null : keyOf(row).models;
  }

  /** Stores the times of last use. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#touch();
  }

  async #find(prefix: string): Promise<CachedKey | null> {
    const known = this.#cached.get(prefix);
    if (known !== undefined) {
      this.#cached.delete(prefix);
      this.#cached.set(prefix, known);
      return known;
    }
    const changes = this.#changes;
    const row = await this.#deps.store.keys.find({ prefix });
    if (row === null) return null;
    const found = { row, key: keyOf(row) };
    if (changes === this.#changes) this.#cache(prefix, found);
    return found;
  }

  #cache(prefix: string, found: CachedKey): void {
    this.#cached.set(prefix, found);
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= MAX_CACHED_KEYS) return;
      this.#cached.delete(oldest);
    }
  }

  /** Awaits a change, and evicts a row that was read before its end. */
  async #changed<T>(prefix: string, change: Promise<T>): Promise<T> {
    try {
      return await change;
    } finally {
      this.#changes++;
      this.#cached.delete(prefix);
    }
  }

  /** The row with the time of its last use, stored or not. */
  #used(row: KeyRow): KeyRow {
    return { ...row, lastUsedAt: this.#uses.get(row.id) ?? row.lastUsedAt };
  }

  async #touch(): Promise<void> {
    if (this.#uses.size === 0) return;
    const uses = [...this.#uses].map(([id, at]) => ({ id, at }));
    this.#uses = new Map();
    try {
      await this.#deps.store.keys.touch({ uses });
    } catch (error) {
      this.#deps.log.error({ err: error, keys: uses.length }, "The keys' times of last use could not be stored");
    }
  }
}

function isPrevious({ previousHash, previousUntil }: KeyRow, digest: Buffer, now: number): boolean {
  return previousHash !== null && previousUntil !== null && now < previousUntil && equals(digest, previousHash);
}
