import { z } from "zod";
import { answerMark } from "../generation/answer-mark.ts";
import { samplingFields } from "../generation/sampling-fields.ts";
import { ignoredField } from "../ignored-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { compaction, messageItem } from "./item.ts";
import { promptFields } from "./request.ts";
import { responseUsage } from "./response.ts";
import { responseChecks } from "./tool-checks.ts";

/** POST /v1/responses/compact. */
export function compactRequest(limits: RequestLimits) {
  const { input, instructions, previous_response_id } = promptFields(limits);
  const { service_tier, temperature, top_p, seed } = samplingFields(limits);
  return z
    .object({
      model: z.string(),
      input,
      instructions,
      previous_response_id,
      service_tier,
      temperature,
      top_p,
      seed,
      prompt_cache_key: ignoredField(z.string().max(512).nullish()),
    })
    .check(responseChecks)
    .check(({ value, issues }) => {
      if (value.input != null || value.previous_response_id != null) return;
      const params = { code: "missing_required_parameter" };
      const message = "Missing required parameter: 'input'.";
      issues.push({ code: "custom", input: value, path: ["input"], params, message });
    });
}

/** The input of a later request, in place of the items that were compacted. */
export const compactedResponse = z.object({
  id: z.string(),
  object: z.literal("response.compaction"),
  created_at: z.int().describe("Unix seconds."),
  output: z
    .array(z.discriminatedUnion("type", [messageItem, compaction]))
    .describe("Messages of user, system and developer that stay, and the compaction."),
  usage: responseUsage,
  nightshift: answerMark,
});
export type CompactedResponse = z.infer<typeof compactedResponse>;
