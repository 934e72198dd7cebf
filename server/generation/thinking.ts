import type { ReasoningEffort, Thinking } from "../../engine/protocol/prompt.ts";

/** The fields of a body for the reasoning before its answer, beside the effort. */
interface ReasoningBody {
  thinking_token_budget?: number | null | undefined;
  thinking_budget_tokens?: number | null | undefined;
  reasoning_budget_tokens?: number | null | undefined;
}

/** The settings of a valid body for reasoning. */
export function thinkingOf(effort: ReasoningEffort | null | undefined, body: ReasoningBody): Thinking {
  return { effort: effort ?? null, budget: thoughtBudget(body) };
}

/** The field has one name in vLLM and two in llama-server. */
function thoughtBudget(body: ReasoningBody): number | null {
  const tokens = body.thinking_token_budget ?? body.thinking_budget_tokens ?? body.reasoning_budget_tokens ?? null;
  return tokens === -1 ? Number.POSITIVE_INFINITY : tokens;
}

interface TemplateBody {
  verbosity?: string | null | undefined;
  chat_template_kwargs?: Record<string, unknown> | null | undefined;
}

/** The values of a valid body for the template's own switches. */
export function templateVariables({ verbosity, chat_template_kwargs }: TemplateBody): Record<string, unknown> {
  const given = Object.entries(chat_template_kwargs ?? {}).filter(([, value]) => value !== null);
  return { ...(verbosity != null && { verbosity }), ...Object.fromEntries(given) };
}
