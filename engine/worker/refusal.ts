import type { EngineError } from "../protocol/messages.ts";
import type { Prompt } from "../protocol/prompt.ts";

/** Why a prompt of these tokens can't run, on a model of so long a context and so large a vocabulary; null when it can. */
export function promptRefusal(
  tokens: readonly number[],
  kind: Prompt["kind"],
  context: number,
  vocabulary: number,
): EngineError | null {
  const invalid = (code: string, message: string) => refusal(code, kind === "chat" ? "messages" : "prompt", message);
  if (tokens.length === 0) return invalid("invalid_value", "The prompt is empty.");
  if (tokens.some((token) => token < 0 || token >= vocabulary))
    return invalid(
      "invalid_value",
      `A token of the prompt is not in the vocabulary: ids run from 0 to ${vocabulary - 1}.`,
    );
  if (tokens.length < context) return null;
  return invalid(
    "context_length_exceeded",
    `This model's maximum context length is ${context} tokens, and the prompt alone has ${tokens.length}. ` +
      "Shorten it, or start the server with a larger --context.",
  );
}

export function invalidGrammar(message: string): EngineError {
  return refusal("invalid_value", null, message);
}

/** Of a request whose grammar leaves nothing to draw. */
export function deadEnd(): EngineError {
  return refusal("grammar_dead_end", null, "The grammar allows nothing that this model's vocabulary can write next.");
}

/** Of a sequence that can't start though nothing else runs: a fault of ours, for the longest request was to fit. */
export function noRoom(): EngineError {
  const message = "The engine has no room for this request, though it computes nothing else.";
  return { status: 500, type: "server_error", code: "internal_error", param: null, message };
}

function refusal(code: string, param: string | null, message: string): EngineError {
  return { status: 400, type: "invalid_request_error", code, param, message };
}
