import type { EngineError } from "./messages.ts";
import { NO_INFILL, type Prompt, tooLongText } from "./prompt.ts";

/** A request that can't be answered; `error` is the answer to its client. */
export class RequestRefusal extends Error {
  override readonly name: string = "RequestRefusal";
  readonly error: EngineError;

  constructor(error: EngineError) {
    super(error.message);
    this.error = error;
  }
}

/**
 * Reason that a prompt of these tokens can't run; null when it can.
 *
 * @param context the model's, in tokens
 * @param vocabulary the number of its tokens
 */
export function promptRefusal(
  tokens: readonly number[],
  kind: Prompt["kind"],
  context: number,
  vocabulary: number,
): EngineError | null {
  const invalid = (message: string): EngineError => ({ code: "invalid_value", param: paramOf(kind), message });
  if (tokens.length === 0) return invalid("The prompt is empty.");
  if (tokens.some((token) => token < 0 || token >= vocabulary))
    return invalid(`A token of the prompt is not in the vocabulary: ids run from 0 to ${vocabulary - 1}.`);
  return tokens.length < context ? null : tooLong(kind, context, tokens.length);
}

/**
 * For a prompt that fills the context alone.
 *
 * @param tokens the size of the prompt, or an estimate of it
 * @param size the text of the size
 */
export function tooLong(kind: Prompt["kind"], context: number, tokens: number, size = String(tokens)): EngineError {
  const excess = { tokens: Math.max(tokens, context), most: context - 1 };
  return { code: "context_length_exceeded", param: paramOf(kind), message: tooLongText(context, size), excess };
}

export function invalidGrammar(message: string): EngineError {
  return { code: "invalid_value", param: null, message };
}

/** For a request whose grammar allows no further token. */
export function deadEnd(): EngineError {
  const message = "The grammar allows nothing that this model's vocabulary can write next.";
  return { code: "grammar_dead_end", param: null, message };
}

/** For a sequence that can't start while nothing else runs: a bug of the engine, since the longest request must fit. */
export function noRoom(): EngineError {
  const message = "The engine has no room for this request, though it computes nothing else.";
  return { code: "internal_error", param: null, message };
}

export function noEmbeddingMemory(): EngineError {
  const message = "There is no memory for embeddings beside the weights and the cache: lower --context or --sequences.";
  return { code: "unsupported_model", param: "model", message };
}

export function noGeneration(model: string): EngineError {
  return { code: "unsupported_model", param: "model", message: `The model '${model}' does not generate text.` };
}

export function noInfill(): EngineError {
  return { code: "unsupported_model", param: "model", message: NO_INFILL };
}

function paramOf(kind: Prompt["kind"]): string {
  return kind === "chat" ? "messages" : "prompt";
}
