import { z } from "zod";
import { wholeNumber } from "../query-value.ts";

/** The query of a list in Anthropic's pagination. */
export const anthropicPageQuery = z
  .object({
    limit: wholeNumber(9).pipe(z.int().min(1).max(1000)).default(20).describe("Items per page, 1 to 1000."),
    after_id: z.string().optional().describe("The last id of the previous page."),
    before_id: z.string().optional().describe("The first id of the next page."),
  })
  .check((context) => {
    const { after_id, before_id } = context.value;
    if (after_id === undefined || before_id === undefined) return;
    const message = "it is not allowed together with 'after_id'";
    context.issues.push({ code: "custom", input: context.value, path: ["before_id"], message });
  });
export type AnthropicPageQuery = z.infer<typeof anthropicPageQuery>;

export interface AnthropicPage<Item> {
  data: Item[];
  has_more: boolean;
  first_id: string | null;
  last_id: string | null;
}

/** The schema of a page. */
export function anthropicPageOf<Item extends z.ZodType>(item: Item) {
  return z.object({
    data: z.array(item),
    has_more: z.boolean().describe("True where further items follow in the direction of the query."),
    first_id: z.string().nullable(),
    last_id: z.string().nullable(),
  });
}

/** The page with these items. */
export function anthropicPage<Item extends { id: string }>(data: Item[], hasMore: boolean): AnthropicPage<Item> {
  return { data, has_more: hasMore, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}
