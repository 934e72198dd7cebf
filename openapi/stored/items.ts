import { z } from "zod";
import { listOf, listQuery } from "../list.ts";
import { flag, wholeNumber } from "../query-value.ts";
import { item } from "../responses/item.ts";

export const itemList = listOf(item);

const MAX_ITEMS = 100;
const DEFAULT_ITEMS = 20;

export const itemListQuery = z.object({
  ...listQuery({ most: MAX_ITEMS, usual: DEFAULT_ITEMS }),
  order: z.enum(["asc", "desc"]).default("desc").describe("Order of addition."),
});

/** The query of GET /v1/responses/{id}. */
export const responseQuery = z.object({
  stream: flag
    .optional()
    .describe("`true`: the events of a response that was created with `background` and `stream`, also while it runs."),
  starting_after: wholeNumber(9).optional().describe("With `stream=true`: only events after the one with this number."),
});

export const responseDeleted = z.object({ id: z.string(), object: z.literal("response"), deleted: z.literal(true) });
