import type { Prompt } from "./prompt.ts";

/** What is asked of tokens and texts alone: no step has to answer it. */
export type TokenQuestion = TokenSource & {
  /** Whether the texts of the tokens are wanted too. */
  pieces: boolean;
};

export type TokenSource =
  /** The tokens of a prompt, as a request with it would have them; refused as that would be. */
  | { kind: "prompt"; prompt: Prompt }
  /** Of a text by itself: `opening` adds the token that begins texts, `special` reads control tokens' texts as these. */
  | { kind: "text"; text: string; opening: boolean; special: boolean }
  /** Tokens themselves, all of the model's vocabulary. */
  | { kind: "tokens"; tokens: number[] };

export interface TokenAnswer {
  tokens: Int32Array;
  /** Null where they are not wanted. */
  pieces: TokenPieces | null;
}

/** The bytes of tokens, with the texts of control tokens: one after the other, each perhaps half a character. */
export interface TokenPieces {
  bytes: Uint8Array;
  /** Where each token's end. */
  ends: Uint32Array;
}
