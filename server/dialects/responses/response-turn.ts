import type { ChatMessage } from "../../../engine/protocol/prompt.ts";
import { invalidRequest } from "../../../openapi/api-error.ts";
import type { SamplingBody } from "../../../openapi/generation/sampling-fields.ts";
import type { GivenItem, Item } from "../../../openapi/responses/item.ts";
import type { InputTokensRequest, ResponsesRequest } from "../../../openapi/responses/request.ts";
import type { TextFormat } from "../../../openapi/responses/text-format.ts";
import { objectForm, schemaForm } from "../../generation/answer-form.ts";
import { generationSettings } from "../../generation/generation-settings.ts";
import { templateVariables, thinkingOf } from "../../generation/thinking.ts";
import type { AnswerForm, Turn } from "../../generation/turn.ts";
import { messagesOf } from "./conversation.ts";
import type { ToolSet } from "./tool-set.ts";

/** The items of a prompt, oldest first, and what opens their sealed texts. */
export interface PromptItems {
  items: readonly (Item | GivenItem)[];
  open: (sealed: string) => string | null;
}

/** The turn of a valid body of responses. */
export function responseTurn(body: ResponsesRequest, context: PromptItems, tools: ToolSet): Turn {
  const wanted = body.include?.includes("message.output_text.logprobs") || (body.top_logprobs ?? 0) > 0;
  return {
    ...promptTurn(body, context, tools),
    settings: generationSettings(samplingBody(body), {
      maxTokens: body.max_output_tokens ?? null,
      logprobs: wanted ? { top: body.top_logprobs ?? 0, prompt: false } : null,
    }),
  };
}

/** The sampling fields of a body, without those that have other names or no place in a response. */
export function samplingBody(body: ResponsesRequest): SamplingBody {
  return { ...body, n: 1, grammar: null, json_schema: null };
}

/** True where the reasoning goes into its items sealed, too. */
export function wantsSealed({ include }: Pick<ResponsesRequest, "include">): boolean {
  return include?.includes("reasoning.encrypted_content") ?? false;
}

/** The part of a turn that makes its prompt. */
export function promptTurn(
  body: InputTokensRequest,
  { items, open }: PromptItems,
  { prompt, use }: ToolSet,
): Omit<Turn, "settings"> {
  const { instructions, reasoning, text, chat_template_kwargs } = body;
  const messages = messagesOf(items, open);
  if (messages.length === 0) throw invalidRequest("invalid_value", "input", "Invalid 'input': it has no message.");
  const first: ChatMessage[] = instructions == null ? [] : [{ role: "system", content: instructions }];
  return {
    messages: [...first, ...messages],
    tools: prompt,
    toolUse: use,
    form: formOf(text?.format),
    thinking: thinkingOf(reasoning?.effort, body),
    variables: templateVariables({ verbosity: text?.verbosity, chat_template_kwargs }),
  };
}

/** Null for any text. */
function formOf(format: TextFormat | null | undefined): AnswerForm | null {
  switch (format?.type) {
    case "json_schema":
      return format.schema == null ? objectForm() : schemaForm(format.schema, format.strict);
    case "json_object":
      return objectForm();
    default:
      return null;
  }
}
