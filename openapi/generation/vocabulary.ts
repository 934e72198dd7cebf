import { invalidRequest } from "../api-error.ts";

/** Throws 400 for the first token id that is not in a vocabulary of this size; null is one of unknown size. */
export function checkVocabulary(tokens: readonly number[], param: string, vocabulary: number | null): void {
  if (vocabulary === null) return;
  const bad = tokens.find((token) => token >= vocabulary);
  if (bad === undefined) return;
  const message = `Invalid '${param}': the model has token ids from 0 to ${vocabulary - 1}, but got ${bad}.`;
  throw invalidRequest("invalid_value", param, message);
}
