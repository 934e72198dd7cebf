import type { Operation } from "./operation.ts";

const tokenFailures = {
  "400": "The request is not valid, or the prompt longer than the context.",
  "404": "No such model.",
  "413": "The body is too large.",
  "415": "The body is not JSON, or is compressed.",
  "503": "The model is not ready; see Retry-After.",
};

/** Text to tokens and back. Clients of vLLM and llama-server look for them without the version. */
export function tokenOperations(prefix: string): Operation[] {
  const suffix = prefix === "" ? "Unversioned" : "";
  return [
    {
      method: "post",
      path: `${prefix}/tokenize`,
      id: `tokenize${suffix}`,
      access: "inference",
      summary: "The tokens of a text or a conversation.",
      request: "TokenizeRequest",
      response: "Tokens",
      failures: tokenFailures,
    },
    {
      method: "post",
      path: `${prefix}/detokenize`,
      id: `detokenize${suffix}`,
      access: "inference",
      summary: "The text of tokens.",
      request: "DetokenizeRequest",
      response: "Detokenized",
      failures: tokenFailures,
    },
  ];
}
