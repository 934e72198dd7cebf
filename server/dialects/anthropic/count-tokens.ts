import { countTokensRequest } from "../../../openapi/anthropic/messages.ts";
import { validate } from "../../../openapi/generation/validate.ts";
import { ignoredNames } from "../../../openapi/ignored-fields.ts";
import type { RequestLimits } from "../../../openapi/request-limits.ts";
import { turnPrompt } from "../../generation/turn-request.ts";
import type { TokenRequest } from "../tokenize.ts";
import { promptTurn } from "./messages.ts";
import { skippedTools } from "./skipped-tools.ts";

/** Reads bodies of POST /v1/messages/count_tokens. A prompt that is too long for the context is counted too. */
export function countTokensReader(limits: RequestLimits): (json: unknown) => TokenRequest {
  const schema = countTokensRequest(limits);
  return (json) => {
    const body = validate(schema, json);
    return {
      model: body.model,
      ignored: [...ignoredNames(Object(json), schema), ...skippedTools(body)],
      question: () => ({ kind: "prompt", prompt: turnPrompt(promptTurn(body)), anyLength: true, pieces: false }),
      write: async ({ tokens }) => JSON.stringify({ input_tokens: tokens.length }),
    };
  };
}
