import type { Prices } from "../../ledger/prices.ts";
import type { DryRunResponse } from "../../openapi/generation/dry-run.ts";
import type { ReadyModel } from "../admission/ready-model.ts";
import { wholeText } from "../tokenize/token-list.ts";
import type { Tokenizer } from "../tokenize/token-run.ts";
import type { GenerationRequest } from "./request.ts";

/** The prompt and the cost of a request that is not run. Throws the ApiError of a prompt that would be refused. */
export async function dryRun(
  { submissions }: Pick<GenerationRequest, "submissions">,
  { model, facts }: Pick<ReadyModel, "model" | "facts">,
  prices: Pick<Prices, "costNano">,
  tokenize: Tokenizer,
): Promise<DryRunResponse> {
  const prompts: DryRunResponse["prompts"] = [];
  // One after the other: a request with many prompts occupies the tokenizer no more than one with one prompt.
  for (const { prompt } of submissions) {
    const { tokens, pieces } = await tokenize({ kind: "prompt", prompt, pieces: true });
    prompts.push({ text: pieces === null ? "" : wholeText(pieces), tokens: tokens.length });
  }
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
