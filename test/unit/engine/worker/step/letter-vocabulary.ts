import type { BreakerVocabulary } from "../../../../../engine/worker/step/sequence-breakers.ts";

/** Tokens of one to three letters; a text is tokenized letter by letter. */
export const PIECES = ["a", "b", "c", "ab", "bc", "abc", "ca", "\n"] as const;

export const LETTER_VOCABULARY: BreakerVocabulary = {
  alone: (token) => Buffer.from(PIECES[token] ?? ""),
  tokenizeNow: (text) =>
    Int32Array.from([...Buffer.from(text).toString()], (letter) => PIECES.findIndex((piece) => piece.includes(letter))),
};
