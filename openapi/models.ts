import { z } from "zod";

export const model = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int().describe("Unix seconds."),
  owned_by: z.string(),
});
export type Model = z.infer<typeof model>;

export const modelList = z.object({ object: z.literal("list"), data: z.array(model) });
export type ModelList = z.infer<typeof modelList>;
