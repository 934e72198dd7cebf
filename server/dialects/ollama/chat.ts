import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import { type OllamaChatRequest, ollamaChatRequest } from "../../../openapi/ollama/chat.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import type { Clock } from "../../../platform/clock.ts";
import type { Dialect } from "../../generation/generation-endpoint.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import type { Turn } from "../../generation/turn.ts";
import { turnRequest } from "../../generation/turn-request.ts";
import { functionTool } from "../chat.ts";
import { AnswerLines, type Said, wholeAnswer } from "./answer-lines.ts";
import { turnMessages } from "./messages.ts";
import { checkCapabilities, ignoredOptions, ollamaForm, ollamaSettings, ollamaThinking } from "./settings.ts";

/** POST /api/chat. */
export function ollamaChatDialect(limits: RequestLimits, clock: Clock): Dialect {
  return { endpoint: "/api/chat", idPrefix: "ollama-", read: ollamaChatReader(limits, clock) };
}

function ollamaChatReader(limits: RequestLimits, clock: Clock): (body: unknown) => GenerationRequest {
  const schema = ollamaChatRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    return {
      model: body.model,
      ...turnRequest(ollamaChatTurn(body)),
      truncate: body.truncate !== false,
      stream: body.stream ?? true,
      ignored: [...ignoredNames(Object(json), schema), ...ignoredOptions(json)],
      dryRun: false,
      checkModel: (facts) => checkCapabilities(body, facts, "chat"),
      chunks: ({ upstream }) => new AnswerLines({ model: body.model, upstream }, clock, chatMessage),
      whole: ({ upstream }, [choice], end) =>
        wholeAnswer({ model: body.model, upstream }, clock, chatMessage, choice!, end),
    };
  };
}

/** The turn of a valid body. */
export function ollamaChatTurn(body: OllamaChatRequest): Turn {
  return {
    messages: turnMessages(body.messages ?? []),
    tools: (body.tools ?? []).flatMap(functionTool),
    toolUse: { allowed: null, required: false, parallel: true },
    form: ollamaForm(body),
    thinking: ollamaThinking(body),
    variables: {},
    settings: ollamaSettings(body),
  };
}

export function chatMessage({ text, reasoning, calls }: Said): object {
  return {
    message: {
      role: "assistant",
      content: text,
      ...(reasoning !== "" && { thinking: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  };
}
