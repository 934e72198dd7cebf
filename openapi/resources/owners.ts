import { z } from "zod";
import { budget } from "./keys.ts";

/** PATCH /v1/nightshift/owners/{owner}: what is left out stays, null takes a bound away. */
export const updateOwner = z.object({
  budget: budget.nullish().describe("What all keys of the owner may spend together; null takes all bounds away."),
});
export type UpdateOwner = z.infer<typeof updateOwner>;

const usd = z.number();

export const owner = z.object({
  id: z.string(),
  object: z.literal("nightshift.owner"),
  budget: z.object({
    daily_usd: usd.nullable(),
    monthly_usd: usd.nullable(),
    soft_ratio: z.number().nullable(),
  }),
  spending: z.object({
    day_usd: usd.describe("Of the present UTC day, by the ledger."),
    month_usd: usd.describe("Of the present UTC month."),
    held_usd: usd.describe("Held back for requests and batch lines that run."),
  }),
  erasure: z
    .object({ requested_at: z.number().describe("Unix seconds: what was stored until then goes.") })
    .nullable()
    .describe("While the owner is being erased; null before and after."),
});
export type Owner = z.infer<typeof owner>;
