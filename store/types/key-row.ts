import { columns } from "./columns.ts";

/** The fields of a key that an administrator may change; null is no bound. */
export interface KeyTermsRow {
  name: string;
  /** JSON list of scopes. */
  scopes: string;
  /** JSON list of model ids; null for all. */
  models: string | null;
  /** JSON list of tiers; null for all that need no explicit permission. */
  tiers: string | null;
  /** JSON object of strings. */
  metadata: string | null;
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  /** Most requests that run or wait at a time. */
  concurrent: number | null;
  /** Most estimated tokens in batches that are not terminal. */
  enqueuedTokens: number | null;
  storageBytes: number | null;
  /** Nano-dollars per UTC day and month. */
  dailyNano: number | null;
  monthlyNano: number | null;
  /** Fraction of a budget at which the owner is warned, in (0, 1]; null for no warning. */
  softRatio: number | null;
  expiresAt: number | null;
}

export interface NewKey extends KeyTermsRow {
  id: string;
  /** The public part of the secret. */
  prefix: string;
  /** SHA-256 of the whole secret, hex. */
  hash: string;
  owner: string;
  createdAt: number;
}

export interface KeyRow extends NewKey {
  /** Order of creation. */
  seq: number;
  /** Set while the previous secret is valid after a rotation with a grace period, else both null. */
  previousHash: string | null;
  previousUntil: number | null;
  revokedAt: number | null;
  /** Up to a minute behind; the key ring has the current value. */
  lastUsedAt: number | null;
}

const TERMS = [
  "name",
  "scopes",
  "models",
  "tiers",
  "metadata",
  "requestsPerMinute",
  "tokensPerMinute",
  "concurrent",
  "enqueuedTokens",
  "storageBytes",
  "dailyNano",
  "monthlyNano",
  "softRatio",
  "expiresAt",
] as const satisfies readonly (keyof KeyTermsRow)[];
const NEW = ["id", "prefix", "hash", "owner", "createdAt", ...TERMS] as const satisfies readonly (keyof NewKey)[];

export const KEY_TERMS = columns<KeyTermsRow>(TERMS);
export const NEW_KEY = columns<NewKey>(NEW);
export const KEY = columns<KeyRow>([...NEW, "seq", "previousHash", "previousUntil", "revokedAt", "lastUsedAt"]);
