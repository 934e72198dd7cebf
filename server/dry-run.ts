import type { Prices } from "../ledger/prices.ts";
import type { DryRunResponse } from "../openapi/dry-run.ts";
import type { Place } from "./admission.ts";
import type { GenerationRequest } from "./generation-route.ts";

/** What a request would be and cost; throws the ApiError that it would be refused with for its prompt. */
export async function dryRun(
  { submissions }: Pick<GenerationRequest, "submissions">,
  { model, facts }: Pick<Place, "model" | "facts">,
  prices: Prices,
): Promise<DryRunResponse> {
  const ask = submissions.map(({ prompt }) => model.engine.tokenize({ kind: "prompt", prompt }));
  const prompts = (await Promise.all(ask)).map(({ text, tokens }) => ({ text, tokens: tokens.length }));
  const inputTokens = prompts.reduce((sum, { tokens }) => sum + tokens, 0);
  const outputTokens = submissions.reduce((sum, { n, maxTokens }, i) => {
    const room = facts.context - prompts[i]!.tokens;
    return sum + n * Math.min(room, maxTokens ?? room);
  }, 0);
  const costAt = (tier: keyof DryRunResponse["cost_nano_usd"]) => {
    const input = { inputTokens, cachedTokens: 0, outputTokens: 0 };
    return {
      input: prices.costNano(model.id, tier, input),
      most: prices.costNano(model.id, tier, { ...input, outputTokens }),
    };
  };
  return {
    object: "nightshift.dry_run",
    model: model.id,
    prompts,
    prompt_tokens: inputTokens,
    max_completion_tokens: outputTokens,
    cost_nano_usd: {
      priority: costAt("priority"),
      default: costAt("default"),
      flex: costAt("flex"),
      batch: costAt("batch"),
    },
  };
}
