import { z } from "zod";
import { modelReadiness } from "./health.ts";

export const model = z.object({
  id: z.string(),
  object: z.literal("model"),
  created: z.int().describe("Unix seconds."),
  owned_by: z.string(),
  nightshift: z.object({
    alias_of: z.string().nullable().describe("The model that this alias names; null for a model's own name."),
    state: modelReadiness.shape.state,
    context: z.int().nullable().describe("Tokens of the longest request; null until the model has been loaded once."),
    adapters: z
      .array(z.object({ name: z.string(), scale: z.number() }))
      .nullable()
      .describe("LoRA adapters applied to the weights; null until the model has been loaded once."),
    upstream: z.string().nullable().describe("The upstream that computes the model; null for a model of this server."),
  }),
});
export type Model = z.infer<typeof model>;

export const modelList = z.object({ object: z.literal("list"), data: z.array(model) });
export type ModelList = z.infer<typeof modelList>;
