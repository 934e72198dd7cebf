import type { Operation } from "./operation.ts";

/** Responses, and the tokens of their prompts. */
export function responseOperations(failures: Operation["failures"]): Operation[] {
  return [
    {
      method: "post",
      path: "/v1/responses",
      id: "createResponse",
      access: "inference",
      summary: "Answer items of a conversation, in one response or as a stream of typed events.",
      request: "CreateResponseRequest",
      response: "Response",
      dryRun: "DryRun",
      stream: "ResponseStreamEvent",
      failures,
    },
    {
      method: "post",
      path: "/v1/responses/compact",
      id: "compactResponse",
      access: "inference",
      summary: "Compact a conversation: its messages that stay, and a summary of the rest that the model makes.",
      request: "CompactRequest",
      response: "CompactedResponse",
      failures,
    },
    {
      method: "post",
      path: "/v1/responses/input_tokens",
      id: "countInputTokens",
      access: "inference",
      summary: "Count the tokens that a response with the same fields would read.",
      request: "InputTokensRequest",
      response: "InputTokens",
      failures: {
        "400": "The request is not valid, or the prompt exceeds the context.",
        "404": "No such model.",
        "413": "The body is too large.",
        "415": "The body is not JSON, or its encoding is not supported.",
        "503": "The model is not ready. See Retry-After.",
      },
    },
  ];
}
