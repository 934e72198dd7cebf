import { z } from "zod";
import { ignoredField } from "../ignored-fields.ts";
import { refusedField } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { answerFields, contextTokens, generationFields, images } from "./fields.ts";

/** POST /api/generate. Fields that are not named here are ignored. */
export function ollamaGenerateRequest(limits: RequestLimits) {
  const text = z.string().max(limits.textLength);
  return z
    .object({
      ...generationFields,
      prompt: text.nullish().describe("None loads the model, and with `keep_alive: 0` unloads it."),
      suffix: text
        .nullish()
        .describe(
          "Text after the answer, which a model without fill-in-the-middle tokens refuses. `system` has no effect beside it.",
        ),
      system: text.nullish().describe("A message of role `system` before the prompt."),
      raw: z.boolean().nullish().describe("True: the prompt is not put into the chat template."),
      template: refusedField(
        "it is not supported in requests; --chat-template sets a model's template at the server's start.",
        (value) => value === "",
      ),
      context: contextTokens,
      truncate: ignoredField(
        z.boolean().nullish(),
        "Accepted and ignored: a prompt that is longer than the context is refused.",
      ),
      images,
    })
    .check(({ value, issues }) => {
      if (value.raw !== true || (!value.system && !value.context?.length)) return;
      const message = "raw mode does not support template, system, or context";
      issues.push({ code: "custom", input: value, path: ["raw"], message });
    });
}
export type OllamaGenerateRequest = z.infer<ReturnType<typeof ollamaGenerateRequest>>;

/** A line of a streamed answer, and a whole answer. */
export const ollamaGenerateAnswer = z.object({
  ...answerFields,
  response: z.string(),
  thinking: z.string().optional(),
});
export type OllamaGenerateAnswer = z.infer<typeof ollamaGenerateAnswer>;
