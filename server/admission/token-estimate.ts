import type { EmbeddingInput } from "../../engine/protocol/embedding.ts";
import { CHARS_PER_TOKEN, type Prompt } from "../../engine/protocol/prompt.ts";
import { jsonWithin } from "../../grammar/schema/json-length.ts";

/** The estimated tokens of a prompt, before the engine has counted them. */
export interface PromptSize {
  usual: number;
  /** Upper bound: a byte is at most one token, and a template adds less around messages than JSON does. */
  most: number;
}

/** Upper bounds on the tokens that the marks of a fill-in-the-middle prompt add, and those of each file. */
const INFILL_MARKS = 32;
const FILE_MARK = 24;

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
    case "infill": {
      const { prefix, middle, suffix, repository } = prompt;
      const files = (repository?.files ?? []).map(({ name, text }) => `${name}${text}`);
      const { usual, most } = sizeOf([prefix, middle, suffix, ...files].join(""));
      return { usual, most: most + INFILL_MARKS + FILE_MARK * files.length };
    }
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
