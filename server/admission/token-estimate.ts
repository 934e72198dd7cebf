import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import { CHARS_PER_TOKEN, type Prompt } from "../../engine/protocol/prompt.ts";
import { jsonWithin } from "../../grammar/schema/json-length.ts";

/** The estimated tokens of a prompt, before the engine has counted them. */
export interface PromptSize {
  usual: number;
  /** Upper bound: a byte is at most one token, and a template adds less around messages than JSON does. */
  most: number;
}

/** Each at most `context`: a longer prompt is refused, and never written as JSON in full. */
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
