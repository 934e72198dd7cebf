import type { Prompt } from "./prompt.ts";

/** A question about tokens and texts, which needs no step. */
export type TokenQuestion = TokenSource & {
  /** True: with the texts of the tokens. */
  pieces: boolean;
};

export type TokenSource =
  /**
   * The tokens of a prompt, exactly as of a request with it, refusals included. `anyLength`: also of a prompt that is too
   * long for the context, while its text is not too long to be tokenized.
   */
  | { kind: "prompt"; prompt: Prompt; anyLength?: boolean }
  /** Of a plain text: `opening` adds the token that begins texts, `special` turns control tokens' texts into these tokens. */
  | { kind: "text"; text: string; opening: boolean; special: boolean }
  /** Given tokens, all of the model's vocabulary. */
  | { kind: "tokens"; tokens: number[] };

export interface TokenAnswer {
  tokens: Int32Array;
  /** Null unless requested. */
  pieces: TokenPieces | null;
}

/** The bytes of tokens, control tokens' texts included, one after the other; each may be half a character. */
export interface TokenPieces {
  bytes: Uint8Array;
  /** The end of each token's bytes. */
  ends: Uint32Array;
}
