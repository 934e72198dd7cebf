import type { TokenAnswer, TokenQuestion } from "../../engine/protocol/tokenize.ts";
import type { Prices } from "../../ledger/prices.ts";
import type { DryRunResponse } from "../../openapi/generation/dry-run.ts";
import type { Place } from "../admission/admission.ts";
import { wholeText } from "../tokenize/token-list.ts";
import type { GenerationRequest } from "./request.ts";

/** What a request would be and cost; throws the ApiError that it would be refused with for its prompt. */
export async function dryRun(
  { submissions }: Pick<GenerationRequest, "submissions">,
  { model, facts }: Pick<Place, "model" | "facts">,
  prices: Prices,
  tokenize: (question: TokenQuestion) => Promise<TokenAnswer>,
): Promise<DryRunResponse> {
  const prompts: DryRunResponse["prompts"] = [];
  // One after the other: however many prompts it has, it is one call in the engine.
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
