import type { EmbeddingInput } from "../engine/protocol/embedding.ts";
import type { Prompt } from "../engine/protocol/prompt.ts";

/** How many tokens a prompt may have, before the engine has counted them. */
export interface PromptSize {
  usual: number;
  /** A byte is at most one token; what a template puts around messages is less than what JSON does. */
  most: number;
}

const CHARS_PER_TOKEN = 4;

export function promptSize(prompt: Prompt): PromptSize {
  switch (prompt.kind) {
    case "tokens":
      return { usual: prompt.tokens.length, most: prompt.tokens.length };
    case "text":
      return sizeOf(prompt.text);
    case "chat":
      return sizeOf(JSON.stringify([prompt.messages, prompt.tools]));
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
