import type { Asked } from "../../../engine/engine.ts";
import type { ModelFacts } from "../../../engine/protocol/config.ts";
import { invalidRequest } from "../../../openapi/api-error.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import { type OllamaGenerateRequest, ollamaGenerateRequest } from "../../../openapi/ollama/generate.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import type { Clock } from "../../../platform/clock.ts";
import { formRule } from "../../generation/answer-form.ts";
import type { Dialect } from "../../generation/generation-endpoint.ts";
import { infillPrompt } from "../../generation/infill-prompt.ts";
import type { GenerationRequest } from "../../generation/request.ts";
import { turnRequest } from "../../generation/turn-request.ts";
import { AnswerLines, type Said, wholeAnswer } from "./answer-lines.ts";
import { checkCapabilities, ignoredOptions, ollamaForm, ollamaSettings, ollamaThinking } from "./settings.ts";

/** POST /api/generate. */
export function ollamaGenerateDialect(limits: RequestLimits, clock: Clock): Dialect {
  return { endpoint: "/api/generate", idPrefix: "ollama-", read: ollamaGenerateReader(limits, clock) };
}

function ollamaGenerateReader(limits: RequestLimits, clock: Clock): (body: unknown) => GenerationRequest {
  const schema = ollamaGenerateRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    return {
      model: body.model,
      ...(body.raw === true || body.suffix ? plainRequest(body) : promptRequest(body)),
      stream: body.stream ?? true,
      ignored: [
        ...ignoredNames(Object(json), schema),
        ...ignoredOptions(json),
        ...(body.suffix && body.system ? ["system"] : []),
      ],
      dryRun: false,
      checkModel: (facts) => {
        checkCapabilities(body, facts, "generate");
        checkInsert(body, facts);
      },
      chunks: ({ upstream }) => new AnswerLines({ model: body.model, upstream }, clock, generatedText),
      whole: ({ upstream }, [choice], end) =>
        wholeAnswer({ model: body.model, upstream }, clock, generatedText, choice!, end),
    };
  };
}

type Submitted = Pick<GenerationRequest, "tier" | "submissions" | "toolChoice">;

/** The prompt as a chat of one message, after that of the system. */
function promptRequest(body: OllamaGenerateRequest): Submitted {
  const system = body.system ? [{ role: "system" as const, content: body.system }] : [];
  return turnRequest({
    messages: [...system, { role: "user", content: body.prompt ?? "" }],
    tools: [],
    toolUse: { allowed: null, required: false, parallel: true },
    form: ollamaForm(body),
    thinking: ollamaThinking(body),
    variables: {},
    settings: ollamaSettings(body),
  });
}

/** The prompt as it is, or the text before a suffix. */
function plainRequest(body: OllamaGenerateRequest): Submitted {
  const settings = ollamaSettings(body);
  const submission: Asked = {
    ...settings,
    prompt: body.suffix ? infillPrompt(body.prompt ?? "", body.suffix) : { kind: "text", text: body.prompt ?? "" },
    grammar: formRule(ollamaForm(body)),
    echo: false,
  };
  return { tier: settings.tier, submissions: [submission], toolChoice: null };
}

/** Throws 400 for a suffix and a model that cannot write the text before one. */
function checkInsert({ model, suffix }: OllamaGenerateRequest, { infill }: ModelFacts): void {
  if (suffix && !infill) throw invalidRequest("unsupported_model", "suffix", `"${model}" does not support insert`);
}

export function generatedText({ text, reasoning }: Said): object {
  return { response: text, ...(reasoning !== "" && { thinking: reasoning }) };
}
