import { z } from "zod";
import { budget } from "./keys.ts";

/** PATCH /v1/nightshift/owners/{owner}: an omitted field keeps its value, null removes a limit. */
export const updateOwner = z.object({
  budget: budget.nullish().describe("Budget of all keys of the owner together; null removes all its limits."),
});

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
    day_usd: usd.describe("Spent in the present UTC day, by the ledger."),
    month_usd: usd.describe("Spent in the present UTC month."),
    held_usd: usd.describe("Reserved for running requests and batch lines."),
  }),
  erasure: z
    .object({ requested_at: z.number().describe("Unix seconds. Data stored until then is erased.") })
    .nullable()
    .describe("Null unless the owner is being erased."),
});
export type Owner = z.infer<typeof owner>;
