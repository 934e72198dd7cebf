import { z } from "zod";
import { boundedList } from "../bounded-schema.ts";
import { vendorFields } from "../generation/dry-run.ts";
import { INT32_MAX } from "../generation/int32.ts";
import { enforceableSchema } from "../generation/response-format.ts";
import { seedField } from "../generation/sampling-fields.ts";
import { ignoredField } from "../ignored-fields.ts";
import { isEmptyList, refusedField } from "../refused-fields.ts";
import type { RequestLimits } from "../request-limits.ts";
import { contentSchemas, messageParams } from "./content.ts";
import { anthropicToolChecks, anthropicToolFields } from "./tools.ts";

const MAX_STOPS = 64;
const MAX_STOP_LENGTH = 256;

const display = z
  .enum(["summarized", "omitted"])
  .nullish()
  .describe("`omitted`: thinking blocks have a signature and no text. Default: the whole reasoning.");

const thinking = z
  .discriminatedUnion("type", [
    z.object({
      type: z.literal("enabled"),
      budget_tokens: z
        .int()
        .min(1)
        .max(INT32_MAX)
        .describe("Most reasoning tokens; after them the reasoning is closed and the answer begins."),
      display,
    }),
    z.object({ type: z.literal("adaptive"), display }),
    z.object({ type: z.enum(["disabled", "between_tools"]) }).describe("`between_tools` is served as `disabled`."),
  ])
  .nullish()
  .describe(
    "Default: disabled, which turns reasoning off where the model allows it and leaves it out of the answer elsewhere. A " +
      "model without reasoning ignores the field.",
  );

const format = z
  .object({ type: z.literal("json_schema"), schema: enforceableSchema })
  .nullish()
  .describe("The format of the answer, enforced at every token.");

/** The fields of a prompt, which POST /v1/messages/count_tokens takes too. */
function promptFields(limits: RequestLimits) {
  return {
    model: z.string(),
    messages: messageParams(limits).describe(
      "Neighbours of one role are joined. The answer continues the text of a last message of the assistant.",
    ),
    system: contentSchemas(limits).system,
    ...anthropicToolFields,
    thinking,
    output_config: z
      .object({
        effort: z
          .enum(["low", "medium", "high", "xhigh", "max"])
          .nullish()
          .describe("The amount of reasoning, where `thinking` asks for it."),
        format,
      })
      .nullish(),
    output_format: format.describe("An earlier name of `output_config.format`."),
    cache_control: ignoredField(
      z.unknown().optional(),
      "Accepted and ignored, here and in every block: prefixes are found by their content.",
    ),
    context_management: ignoredField(z.unknown().optional()),
    container: refusedField("containers are not supported."),
    mcp_servers: refusedField("MCP servers are not supported; pass their tools in `tools`.", isEmptyList),
    betas: ignoredField(z.unknown().optional()),
    metadata: ignoredField(z.object({ user_id: z.string().max(512).nullish() }).nullish()),
    inference_geo: ignoredField(z.unknown().optional()),
    user_profile_id: ignoredField(z.unknown().optional()),
  };
}

/** POST /v1/messages. Fields that are not named here are ignored. */
export function messagesRequest(limits: RequestLimits) {
  return z
    .object({
      ...promptFields(limits),
      max_tokens: z
        .int()
        .min(0)
        .max(INT32_MAX)
        .describe("Most tokens of the answer, the reasoning included; fewer where the context has less room."),
      stop_sequences: boundedList(z.string().min(1).max(MAX_STOP_LENGTH), { max: MAX_STOPS })
        .nullish()
        .describe("Texts that end the answer; its text ends before them."),
      stream: z.boolean().nullish(),
      temperature: z.number().min(0).max(2).nullish().describe("0 for greedy decoding. Default 1."),
      top_p: z.number().min(0).max(1).nullish().describe("Default 1."),
      top_k: z.int().min(0).max(INT32_MAX).nullish().describe("0 for off. Default: off."),
      seed: seedField.describe("Extension. Equal seeds give equal results of one version of a model."),
      service_tier: z
        .enum(["auto", "standard_only", "priority", "flex"])
        .nullish()
        .describe("`auto` and `standard_only` are the tier `default`; `priority` and `flex` are extensions."),
      nightshift: vendorFields.nullish(),
    })
    .check(anthropicToolChecks)
    .check(oneFormat);
}
export type MessagesRequest = z.infer<ReturnType<typeof messagesRequest>>;

/** POST /v1/messages/count_tokens. Further fields of POST /v1/messages are ignored. */
export function countTokensRequest(limits: RequestLimits) {
  return z.object(promptFields(limits)).check(anthropicToolChecks).check(oneFormat);
}
export type CountTokensRequest = z.infer<ReturnType<typeof countTokensRequest>>;

export const tokenCount = z.object({
  input_tokens: z.int().describe("The sum of the three input counts that POST /v1/messages reports for the prompt."),
});

interface Formatted {
  output_config?: { format?: unknown } | null;
  output_format?: unknown;
}

function oneFormat(context: z.core.ParsePayload<Formatted>): void {
  const { output_config, output_format } = context.value;
  if (output_format == null || output_config?.format == null) return;
  const message = "it is not allowed together with 'output_config.format'";
  context.issues.push({ code: "custom", input: context.value, path: ["output_format"], message });
}
