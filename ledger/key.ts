import type { Scope } from "../openapi/resources/keys.ts";
import type { LedgerTier } from "../store/tables/ledger.ts";
import type { KeyRow } from "../store/types/key-row.ts";

/** Null is no bound. */
export interface KeyLimits {
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  /** Requests that may run or wait at once. */
  concurrent: number | null;
  /** Estimated tokens of batches that are not over. */
  enqueuedTokens: number | null;
  storageBytes: number | null;
}

/** In nano-dollars, per UTC day and month; null is no bound. */
export interface Budget {
  dailyNano: number | null;
  monthlyNano: number | null;
  /** The share from which the owner is warned, above 0, at most 1; null for no warning. */
  softRatio: number | null;
}

/** What a key is to those who serve its requests; the secret's hash is not in it. */
export interface Key {
  id: string;
  owner: string;
  scopes: readonly Scope[];
  /** Null for all. */
  models: readonly string[] | null;
  tiers: readonly LedgerTier[];
  limits: KeyLimits;
  budget: Budget;
}

/** Whose request it is; the key is null while API keys are off. */
export interface Caller {
  owner: string;
  key: Key | null;
}

/** Who everything belongs to while API keys are off, and what the administrator's own key makes. */
export const LOCAL_OWNER = "local";

/** Priority is a right that a key is given by name: it goes before everyone else's requests. */
export const USUAL_TIERS: readonly LedgerTier[] = ["default", "flex", "batch"];

const NO_LIMITS: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrent: null,
  enqueuedTokens: null,
  storageBytes: null,
};

/** The key of the environment: it may do everything, and has no row. */
export const ENVIRONMENT_KEY: Key = {
  id: "key_environment",
  owner: LOCAL_OWNER,
  scopes: ["admin"],
  models: null,
  tiers: ["priority", ...USUAL_TIERS],
  limits: NO_LIMITS,
  budget: { dailyNano: null, monthlyNano: null, softRatio: null },
};

export function keyOf(row: KeyRow): Key {
  const { id, owner, dailyNano, monthlyNano, softRatio } = row;
  return {
    id,
    owner,
    scopes: JSON.parse(row.scopes),
    models: row.models === null ? null : JSON.parse(row.models),
    tiers: row.tiers === null ? USUAL_TIERS : JSON.parse(row.tiers),
    limits: {
      requestsPerMinute: row.requestsPerMinute,
      tokensPerMinute: row.tokensPerMinute,
      concurrent: row.concurrent,
      enqueuedTokens: row.enqueuedTokens,
      storageBytes: row.storageBytes,
    },
    budget: { dailyNano, monthlyNano, softRatio },
  };
}

/** An administrator's key has every scope. */
export function hasScope({ key }: Caller, scope: Scope): boolean {
  return key === null || key.scopes.includes(scope) || key.scopes.includes("admin");
}

export function mayUseModel({ key }: Caller, model: string): boolean {
  return key === null || key.models === null || key.models.includes(model);
}

export function mayUseTier({ key }: Caller, tier: LedgerTier): boolean {
  return key === null || key.tiers.includes(tier);
}

/** The id of a key that has a row; null for none, and for that of the environment. */
export function storedKeyId(key: Key | null): string | null {
  return key === null || key === ENVIRONMENT_KEY ? null : key.id;
}
