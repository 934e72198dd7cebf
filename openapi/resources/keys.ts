import { z } from "zod";
import { boundedList, boundedMap } from "../bounded-schema.ts";
import { listOf, listQuery } from "../list.ts";
import { flag } from "../query-value.ts";

/**
 * | scope | permits |
 * |---|---|
 * | inference | generate, embed, rank, count tokens; send requests as jobs |
 * | batches | upload, read and delete files; create, read and cancel batches |
 * | usage | read its owner's usage and costs |
 * | admin | all of these, the usage of every owner, the state of the engines, and API keys |
 */
export const SCOPES = ["inference", "batches", "usage", "admin"] as const;
export type Scope = (typeof SCOPES)[number];
export const DEFAULT_SCOPES: readonly Scope[] = ["inference", "batches", "usage"];

const TIERS = ["priority", "default", "flex", "batch"] as const;
const MOST_MODELS = 256;
const MOST_PAIRS = 16;
const MOST = 1e12;
const MOST_USD = 1e6;

const name = z
  .string()
  .min(1)
  .max(128)
  .regex(/^\P{Cc}*$/u, "expected text without control characters")
  .describe("A name for people; need not be unique.");
const owner = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9][A-Za-z0-9._@:-]*$/, "expected 1 to 64 letters, digits and . _ @ : -")
  .describe("The owner of the files, batches and usage of this key. All keys of one owner share them.");
const scopes = boundedList(z.enum(SCOPES), { min: 1, max: SCOPES.length });
const models = boundedList(z.string().min(1).max(256), { max: MOST_MODELS });
const tiers = boundedList(z.enum(TIERS), { max: TIERS.length });
const metadata = boundedMap(z.string().max(64), z.string().max(512), MOST_PAIRS);
const bound = z.int().min(1).max(MOST);
const amount = z.int().min(0).max(MOST);
const usd = z.number().min(0).max(MOST_USD);

/** A budget of a key, or of all keys of an owner. */
export const budget = z.object({
  daily_usd: usd.nullish().describe("USD per UTC day; null for no limit."),
  monthly_usd: usd.nullish().describe("USD per UTC month; null for no limit."),
  soft_ratio: z.number().gt(0).max(1).nullish().describe("Share of a budget above which the owner is warned."),
});

const terms = {
  models: models.nullish().describe("Ids of the models that the key may use; null for all."),
  tiers: tiers.nullish().describe("Tiers that the key may use; null for all except `priority`."),
  metadata: metadata.nullish().describe(`At most ${MOST_PAIRS} pairs.`),
  expires_at: z.int().min(0).max(MOST).nullish().describe("Unix seconds; null for never."),
  requests_per_minute: bound.nullish(),
  tokens_per_minute: bound.nullish(),
  concurrent: bound.nullish().describe("Most requests that run or wait concurrently."),
  enqueued_tokens: amount.nullish().describe("Most estimated tokens of batches that have not ended."),
  storage_bytes: amount.nullish().describe("Most bytes of stored files."),
  budget: budget.nullish(),
};

/** POST /v1/nightshift/keys. */
export const createKey = z.object({
  name,
  owner,
  scopes: scopes.nullish().describe(`Default: ${DEFAULT_SCOPES.join(", ")}.`),
  ...terms,
});
export type CreateKey = z.infer<typeof createKey>;

/** PATCH /v1/nightshift/keys/{id}: an omitted field keeps its value, null removes a limit. */
export const updateKey = z.object({ name: name.optional(), scopes: scopes.optional(), ...terms });
export type UpdateKey = z.infer<typeof updateKey>;

/** POST /v1/nightshift/keys/{id}/rotate. */
export const rotateKey = z.object({
  grace_seconds: z
    .int()
    .min(0)
    .max(30 * 86_400)
    .nullish()
    .describe("Seconds for which the previous secret remains valid. Default 0."),
});

/** The query of DELETE /v1/nightshift/keys/{id}. */
export const revokeKeyQuery = z.object({
  cancel_batches: flag.optional().describe("`true` also cancels the batches that were created with the key."),
});

/** The query of GET /v1/nightshift/keys. */
export const keyListQuery = z.object({
  ...listQuery({ most: 100, usual: 20 }),
  owner: z.string().max(64).optional().describe("Only keys of this owner."),
});

const count = z.int().nullable();
const time = z.int().nullable().describe("Unix seconds.");

export const key = z.object({
  id: z.string(),
  object: z.literal("nightshift.key"),
  name: z.string(),
  owner: z.string(),
  prefix: z.string().describe("The beginning of the secret, which is not secret itself."),
  key: z.string().optional().describe("The secret; only in the response to the request that creates it."),
  scopes: z.array(z.enum(SCOPES)),
  models: z.array(z.string()).nullable(),
  tiers: z.array(z.enum(TIERS)),
  metadata: z.record(z.string(), z.string()).nullable(),
  requests_per_minute: count,
  tokens_per_minute: count,
  concurrent: count,
  enqueued_tokens: count,
  storage_bytes: count,
  budget: z.object({
    daily_usd: z.number().nullable(),
    monthly_usd: z.number().nullable(),
    soft_ratio: z.number().nullable(),
  }),
  created_at: z.int(),
  expires_at: time,
  revoked_at: time,
  last_used_at: time.describe("Unix seconds. A crash can lose the last minute of use."),
});
export type KeyObject = z.infer<typeof key>;

export const keyList = listOf(key);
export type KeyList = z.infer<typeof keyList>;

export const keyDeleted = z.object({
  id: z.string(),
  object: z.literal("nightshift.key.deleted"),
  deleted: z.literal(true),
});
export type KeyDeleted = z.infer<typeof keyDeleted>;
