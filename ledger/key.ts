import type { Scope } from "../openapi/resources/keys.ts";
import type { LedgerTier } from "../store/tables/ledger.ts";
import type { KeyRow } from "../store/types/key-row.ts";

/** Null is no bound. */
export interface KeyLimits {
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  /** Most requests that run or wait at a time. */
  concurrent: number | null;
  /** Most estimated tokens in open batches. */
  enqueuedTokens: number | null;
  storageBytes: number | null;
}

/** In nano-dollars, per UTC day and month; null is no bound. */
export interface Budget {
  dailyNano: number | null;
  monthlyNano: number | null;
  /** Fraction of a budget at which the owner is warned, in (0, 1]; null for no warning. */
  softRatio: number | null;
}

/** An API key as request handling sees it; without the secret's hash. */
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

/** The origin of a request; the key is null while API keys are off. */
export interface Caller {
  owner: string;
  key: Key | null;
}

/** The owner of everything while API keys are off, and of what the environment's key creates. */
export const LOCAL_OWNER = "local";

/** Tiers of a key that names none. Priority must be granted explicitly, as it precedes all other requests. */
const DEFAULT_TIERS: readonly LedgerTier[] = ["default", "flex", "batch"];

const NO_LIMITS: KeyLimits = {
  requestsPerMinute: null,
  tokensPerMinute: null,
  concurrent: null,
  enqueuedTokens: null,
  storageBytes: null,
};

/** The administrator's key from the environment. It has every scope and tier, and no row. */
export const ENVIRONMENT_KEY: Key = {
  id: "key_environment",
  owner: LOCAL_OWNER,
  scopes: ["admin"],
  models: null,
  tiers: ["priority", ...DEFAULT_TIERS],
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
    tiers: row.tiers === null ? DEFAULT_TIERS : JSON.parse(row.tiers),
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

/** The id of a key with a row; null without a key and for the environment's. */
export function storedKeyId(key: Key | null): string | null {
  return key === null || key === ENVIRONMENT_KEY ? null : key.id;
}
