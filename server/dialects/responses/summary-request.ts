import type { ChatMessage } from "../../../engine/protocol/prompt.ts";
import type { SamplingBody } from "../../../openapi/generation/sampling-fields.ts";
import type { InputTokensRequest } from "../../../openapi/responses/request.ts";
import { generationSettings } from "../../generation/generation-settings.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import { turnRequest } from "../../generation/turn-request.ts";
import { type PromptItems, promptTurn } from "./response-turn.ts";
import { toolSet } from "./tool-set.ts";

/** Most tokens of a summary: as many as a page or two. */
const SUMMARY_TOKENS = 2048;

const ASKED =
  "Summarize the conversation so far for an assistant that continues it and sees nothing else of it. Keep the requests of " +
  "the user, decisions, results of tools, names, numbers, code and files that are still needed, and what remains to be done. " +
  "Answer with the summary alone.";

/** The generation of a summary of items. A prompt that is too long loses its oldest turns. */
export function summaryRequest(
  body: Pick<InputTokensRequest, "instructions" | "chat_template_kwargs"> &
    Pick<SamplingBody, "service_tier" | "temperature" | "top_p" | "seed">,
  context: PromptItems,
): Pick<GenerationRequest, "tier" | "submissions" | "toolChoice" | "truncate"> {
  const { instructions, chat_template_kwargs, service_tier, temperature, top_p, seed } = body;
  const prompt = { instructions, chat_template_kwargs, reasoning: { effort: "none" as const } };
  const turn = promptTurn(prompt, context, toolSet({}));
  const settings = generationSettings(
    { service_tier, temperature, top_p, seed },
    { maxTokens: SUMMARY_TOKENS, logprobs: null },
  );
  return { ...turnRequest({ ...turn, messages: withQuestion(turn.messages), settings }), truncate: true };
}

/** Templates may refuse two messages of a user one after the other. */
function withQuestion(messages: readonly ChatMessage[]): ChatMessage[] {
  const last = messages.at(-1);
  if (last?.role !== "user") return [...messages, { role: "user", content: ASKED }];
  return [...messages.slice(0, -1), { ...last, content: `${last.content}\n\n${ASKED}` }];
}
