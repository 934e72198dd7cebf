import type { Operation } from "./operation.ts";

const tokenFailures = {
  "400": "The request is not valid, or the prompt exceeds the context.",
  "404": "No such model.",
  "413": "The body is too large.",
  "415": "The body is not JSON, or its encoding is not supported.",
  "503": "The model is not ready. See Retry-After.",
};

/** Text to tokens and back. Clients of vLLM and llama-server call these paths without the version. */
export function tokenOperations(prefix: string): Operation[] {
  const suffix = prefix === "" ? "Unversioned" : "";
  return [
    {
      method: "post",
      path: `${prefix}/tokenize`,
      id: `tokenize${suffix}`,
      access: "inference",
      summary: "Tokenize a text or a conversation.",
      request: "TokenizeRequest",
      response: "Tokens",
      failures: tokenFailures,
    },
    {
      method: "post",
      path: `${prefix}/detokenize`,
      id: `detokenize${suffix}`,
      access: "inference",
      summary: "Convert tokens to text.",
      request: "DetokenizeRequest",
      response: "Detokenized",
      failures: tokenFailures,
    },
  ];
}
