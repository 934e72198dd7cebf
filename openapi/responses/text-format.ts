import { z } from "zod";
import { enforceableSchema } from "../generation/response-format.ts";

const MAX_NAME = 64;

/** The form of an answer without a call. Its name and schema stand beside the type. */
export const textFormat = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("text") }),
    z.object({ type: z.literal("json_object") }),
    z.object({
      type: z.literal("json_schema"),
      name: z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,64}$/, { error: `expected 1 to ${MAX_NAME} letters, digits, _ or -` })
        .nullish(),
      description: z.string().nullish().describe("Accepted and ignored: put it into the prompt."),
      schema: enforceableSchema.nullish().describe("Default: any object."),
      strict: z.boolean().nullish().describe("Passed on to an upstream; a model of this server follows every schema."),
    }),
  ])
  .describe("The format of the answer, enforced at every token.");
export type TextFormat = z.infer<typeof textFormat>;

export const verbosity = z.enum(["low", "medium", "high"]);
