import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import type { Prompt } from "../../engine/protocol/prompt.ts";
import { jsonWithin } from "../../grammar/schema/json-length.ts";

/** How many tokens a prompt may have, before the engine has counted them. */
export interface PromptSize {
  usual: number;
  /** A byte is at most one token; what a template puts around messages is less than what JSON does. */
  most: number;
}

const CHARS_PER_TOKEN = 4;

/** At most `context` of each: of a prompt that is longer in any case nothing is written. */
export function promptSize(prompt: Prompt, context: number): PromptSize {
  const { usual, most } = fullSize(prompt, context);
  return { usual: Math.min(usual, context), most: Math.min(most, context) };
}

function fullSize(prompt: Prompt, context: number): PromptSize {
  switch (prompt.kind) {
    case "tokens":
      return { usual: prompt.tokens.length, most: prompt.tokens.length };
    case "text":
      return sizeOf(prompt.text);
    case "chat": {
      const text = jsonWithin([prompt.messages, prompt.tools], CHARS_PER_TOKEN * context);
      return text === null ? { usual: context, most: context } : sizeOf(text);
    }
  }
}

export function inputSize(input: EmbeddingInput): PromptSize {
  switch (input.kind) {
    case "tokens":
      return { usual: input.tokens.length, most: input.tokens.length };
    case "text":
      return sizeOf(input.text);
    case "pair":
      return sizeOf(input.query + input.document);
  }
}

function sizeOf(text: string): PromptSize {
  return { usual: Math.ceil(text.length / CHARS_PER_TOKEN), most: Buffer.byteLength(text) };
}
