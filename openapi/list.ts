import { z } from "zod";
import { wholeNumber } from "./query-value.ts";

/** One page of a list in OpenAI's pagination: the next page begins after the last id of this one. */
export interface List<Item> {
  object: "list";
  data: Item[];
  first_id: string | null;
  last_id: string | null;
  has_more: boolean;
}

/** The query fields of a list: items per page (1 to `most`, default `usual`), and the id after which the page begins. */
export function listQuery({ most, usual }: { most: number; usual: number }) {
  return {
    limit: wholeNumber(9).pipe(z.int().min(1).max(most)).default(usual).describe(`Items per page, 1 to ${most}.`),
    after: z.string().optional().describe("The last id of the previous page."),
  };
}

/** The schema of a page. */
export function listOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    object: z.literal("list"),
    data: z.array(item),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
    has_more: z.boolean(),
  });
}

/** The page with these items. */
export function listPage<Item extends { id: string }>(data: Item[], hasMore: boolean): List<Item> {
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: hasMore,
  };
}
