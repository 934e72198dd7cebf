import type { Operation } from "./operation.ts";

/** The Messages API of Anthropic. */
export const messageOperations: Operation[] = [
  {
    method: "post",
    path: "/v1/messages",
    id: "createMessage",
    access: "inference",
    summary: "Answer a conversation as Anthropic's API does, in one response or as a stream of named events.",
    request: "MessagesRequest",
    response: "Message",
    dryRun: "DryRun",
    accepted: "Job",
    stream: "MessageEvent",
    error: "AnthropicError",
    failures: {
      "400": "The request is not valid, uses an unsupported feature, or exceeds the context.",
      "402": "A budget of the API key or its owner is used up.",
      "404": "No such model.",
      "413": "The body is too large.",
      "415": "The body is not JSON, or its encoding is not supported.",
      "429": "A limit of the API key is reached. Not charged.",
      "500": "The engine failed.",
      "503": "The model is not ready. See Retry-After.",
      "529": "Too many requests wait, or the queue wait of a flex request is too long. See Retry-After.",
    },
  },
  {
    method: "post",
    path: "/v1/messages/count_tokens",
    id: "countMessageTokens",
    access: "inference",
    summary:
      "Count the tokens of a prompt as POST /v1/messages would report them, also of one that exceeds the context.",
    request: "CountTokensRequest",
    response: "TokenCount",
    error: "AnthropicError",
    failures: {
      "400": "The request is not valid, or its text is too long to be tokenized.",
      "404": "No such model.",
      "413": "The body is too large.",
      "415": "The body is not JSON, or its encoding is not supported.",
      "503": "The model is not ready. See Retry-After.",
    },
  },
];
