import { columns } from "./columns.ts";

/** What an administrator may change about a key; null is no bound. */
export interface KeyTermsRow {
  name: string;
  /** JSON list of scopes. */
  scopes: string;
  /** JSON list of model ids; null for all. */
  models: string | null;
  /** JSON list of tiers; null for all but those that need a right. */
  tiers: string | null;
  /** JSON object of strings. */
  metadata: string | null;
  requestsPerMinute: number | null;
  tokensPerMinute: number | null;
  /** Requests that may run or wait at once. */
  concurrent: number | null;
  /** Estimated tokens of batches that are not over. */
  enqueuedTokens: number | null;
  storageBytes: number | null;
  /** Nano-dollars per UTC day and month. */
  dailyNano: number | null;
  monthlyNano: number | null;
  /** The share of a budget from which its owner is warned, above 0, at most 1; null for no warning. */
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
  /** Both null unless the key was rotated with a grace for the secret of before. */
  previousHash: string | null;
  previousUntil: number | null;
  revokedAt: number | null;
  /** Late by up to a minute: the ring knows better. */
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
