import type { TokenAnswer, TokenQuestion } from "../protocol/tokens.ts";
import type { Vocabulary } from "./native/vocabulary.ts";

/** Answers what a model's vocabulary alone can. */
export async function answerOf(
  vocabulary: Vocabulary,
  question: Exclude<TokenQuestion, { kind: "prompt" }>,
): Promise<TokenAnswer> {
  if (question.kind === "tokens") return tokenAnswer(vocabulary, question.tokens);
  const tokens = await vocabulary.tokenize(question.text, question.special);
  return tokenAnswer(vocabulary, [...(question.opening ? openingOf(vocabulary) : []), ...tokens]);
}

export function tokenAnswer(vocabulary: Pick<Vocabulary, "bytes">, tokens: number[]): TokenAnswer {
  const pieces = tokens.map((token) => vocabulary.bytes(token));
  return { tokens, text: Buffer.concat(pieces).toString(), pieces };
}

/** The token that begins every text, where the model has one. */
export function openingOf({ addBos, bos }: Pick<Vocabulary, "addBos" | "bos">): number[] {
  return addBos ? [bos] : [];
}
