import type { Prompt } from "./prompt.ts";

/** What is asked of tokens and texts alone: no step has to answer it. */
export type TokenQuestion =
  /** The tokens of a prompt, as a request with it would have them; refused as that would be. */
  | { kind: "prompt"; prompt: Prompt }
  /** Of a text by itself: `opening` adds the token that begins texts, `special` reads control tokens' texts as these. */
  | { kind: "text"; text: string; opening: boolean; special: boolean }
  /** The text of tokens, all of the model's vocabulary. */
  | { kind: "tokens"; tokens: number[] };

export interface TokenAnswer {
  tokens: number[];
  /** With the texts of control tokens. */
  text: string;
  /** The bytes of each token; perhaps half a character. */
  pieces: Uint8Array[];
}
